"""Which model family a model name belongs to, by exact token (``palmyra`` is not ``palm``)."""

import re
from functools import cache

_TOKENS = {
    "anthropic": ("claude",),
    "openai": ("gpt", "chatgpt", "codex", "o1", "o3", "o4"),
    "google": ("gemini", "gemma"),
    "meta": ("llama", "codellama"),
    "qwen": ("qwen", "qwq"),
    "deepseek": ("deepseek",),
    "moonshot": ("kimi",),
    "mistral": ("mistral", "mixtral", "ministral", "magistral", "codestral", "devstral", "pixtral", "voxtral"),
    "xai": ("grok",),
    "zhipu": ("glm",),
    "cohere": ("cohere", "command"),
    "microsoft": ("phi",),
    "nvidia": ("nemotron",),
    "writer": ("palmyra",),
    "allenai": ("olmo", "olmoe"),
    "minimax": ("minimax",),
    "ai21": ("jamba",),
    "tencent": ("hunyuan",),
    "lg": ("exaone",),
    "shanghai-ai-lab": ("internlm",),
    "bytedance": ("doubao",),
}
#: Models that are called like people and things: what has to stand behind the name.
_FORMS = {
    "01-ai": re.compile(r"yi-(\d|large|lightning|medium|spark|vision|coder|vl)"),
    "amazon": re.compile(r"([\w.-]*\bamazon[.-])?nova-(\d|pro|lite|micro|premier|sonic)"),
    "ibm": re.compile(r"granite-?(\d|code|guardian|vision)"),
    "baidu": re.compile(r"ernie-(\d|x|speed|lite)"),
    "tii": re.compile(r"falcon-?(\d|h\d|mamba)"),
}
_TOKEN_FAMILY = {token: family for family, tokens in _TOKENS.items() for token in tokens}


@cache
def family_of(model: str | None) -> str | None:
    """Family of a model name, or None when no token of it is known.

    The name is split at everything that is not a letter or a digit, and trailing version digits of a token are
    dropped (``qwen3`` -> ``qwen``). The last path component decides first, because a path may name a host's own
    family (``nvidia/llama-3``).

    Examples
    --------
    >>> family_of("openai/gpt-4.1-mini"), family_of("palmyra-x5"), family_of("my-model")
    ('openai', 'writer', None)
    """
    if not model:
        return None
    for part in reversed(model.lower().split("/")):
        for index, token in enumerate(re.split(r"[^a-z0-9]+", part)):
            for name in (token, token.rstrip("0123456789")):
                if name in _TOKEN_FAMILY and (name != "command" or not index):  # a word of other names, too
                    return _TOKEN_FAMILY[name]
        if called := [family for family, form in _FORMS.items() if form.match(part)]:
            return called[0]
    return None

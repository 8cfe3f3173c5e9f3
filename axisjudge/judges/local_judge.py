"""``local:PATH.gguf``: a model of the user's own, by llama.cpp's server on this machine (extra ``local``).

The server is started before the first call, on the loopback and in this process, and stopped with the judge. The file's
folder is this machine's business: the judge is known by the file's name, and its ratings by a hash of the file as well.
"""

from __future__ import annotations

import os
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.judges.compatible_judge import OPTIONS, CompatibleJudge
from axisjudge.judges.pricing import Tokens
from axisjudge.spec import JudgeSpec, Provider

#: Tokens of context, where nobody says otherwise.
CONTEXT = 8_192
#: Bytes at either end of a file that tell it from another one, with its length.
_ENDS = 1 << 20


class LocalJudge(CompatibleJudge):
    """A GGUF file. Options: as ``openai-compatible``; context [8192]; threads [half of the machine's]."""

    def __init__(self, spec: JudgeSpec) -> None:
        self.path = Path(spec.model or "").expanduser()
        if not self.path.is_file():
            raise InputError(f"judge local:{spec.model}", "must name a GGUF file", cure="write local:PATH.gguf")
        super().__init__(spec)
        self.model = self.path.name
        self.options = {**spec.options, "context": spec.options.get("context", CONTEXT)}
        self.at_once = 1  # one slot of the server has the whole of its context
        self.version = f"gguf-{_hash_of(self.path)}"
        self._server: Any = None

    def check_options(self) -> None:
        super().check_options()
        if find_spec("xllamacpp") is None:
            raise InputError(f"judge {self.rater}", "needs the extra local", cure="pip install 'axisjudge[local]'")

    @property
    def base_url(self) -> str:
        return f"{self._started().listening_address}/v1"

    @property
    def is_own_server(self) -> bool:
        return True

    @property
    def provider_address(self) -> str:
        return self.rater

    @cached_property
    def key(self) -> str:
        return "not-a-key"

    def price(self, tokens: Tokens, returned_model: str | None = None) -> float | None:
        """Nothing, unless the user says what this machine costs."""
        return 0.0 if self.own_price is None else super().price(tokens, returned_model)

    def _started(self) -> Any:
        if self._server is None:
            llama = import_module("xllamacpp")
            params = llama.CommonParams()
            params.model.path, params.hostnames, params.port = str(self.path), ["127.0.0.1"], 0
            params.model_alias = [self.path.name]
            params.n_ctx, params.n_parallel, params.warmup, params.verbosity = self.options["context"], 1, False, -1
            threads = int(self.options.get("threads", max(1, (os.cpu_count() or 1) // 2)))
            params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
            try:
                self._server = llama.Server(params)
            except RuntimeError as error:
                rule = "cannot be loaded by llama.cpp"
                raise InputError(f"judge {self.rater}", rule, self.path.name, str(error)[:80]) from error
        return self._server

    async def close(self) -> None:
        await super().close()
        self._server = None  # it ends with its last reference


def _hash_of(path: Path) -> str:
    """A short hash of the length and both ends of a file: whole ones have gigabytes."""
    size = path.stat().st_size
    digest = sha256(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(_ENDS))
        file.seek(max(0, size - _ENDS))
        digest.update(file.read(_ENDS))
    return digest.hexdigest()[:16]


PROVIDER = Provider(LocalJudge, {**OPTIONS, "threads": int}, model="a GGUF file")

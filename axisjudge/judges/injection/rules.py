# ruff: noqa: E501
"""What text that speaks to a judge looks like: rules by kind, and letters that pass for others (see `detection`)."""

from __future__ import annotations

import re

from axisjudge.verdict import AXES

_JUDGE = (
    r"(?:(?:llm|ai|external|automated|automatic|auto|human|final|grading|evaluation|evaluating|judging|the)[- ]+)*"
    r"(?:judges?|graders?|autograders?|evaluators?|raters?|assessors?|annotators?"
    r"|(?:grading|evaluation|judge|judging|scoring) (?:model|system|agent|assistant|llm|ai)s?|llm[- ]as[- ]a[- ]judge)"
)
_AXIS = "(?:" + "|".join(axis.replace("_", "[ _-]") for axis in AXES) + ")"
_RUN = (
    r"(?:run|trajectory|transcript|record|conversation|episode|interaction|session|trace|agent|assistant|axis|axes"
    r"|(?:all|every|each)(?: (?:five|5|of the))? (?:axis|axes|step|call|criterion|criteria)s?)"
)
_WORD = r"(?:correct|incorrect|pass(?:ed)?|fail(?:ed)?|flawless|perfect|successful|not[ _]applicable)"
_MARK = r"(?:mark|rate|grade|score|judge|label|classify|treat|record|evaluate|assess|count)"

#: Each rule beside stems of which one occurs in whatever it finds: `str.find` is a hundred times faster than the rule.
_JUDGES = "judge|grader|evaluator|rater|assessor|annotator|grading|judging|evaluation model|evaluation system|evaluation a|scoring"
_GOOD = "perfect|flawless|exemplar|faultless|impeccabl|textbook|outstanding|superb|excellen"
_VERDICT = (
    ("verdict", rf"""["']?(?:final[ _])?verdict["']?\s*[:=]+\s*["']?{_WORD}\b"""),
    (
        "verdict",
        (
            rf"\b(?:final |overall |official |my |the |your |correct )?verdict (?:here |on this \w+ |for this \w+ )?"
            rf"(?:is|must be|should be|has to be|was|:)\s*[:\"'*]*{_WORD}\b"
        ),
    ),
    (
        "selection|validity|sequencing|interpretation|termination",
        rf"\b{_AXIS}[\"'*]*\s*(?:[:=]+|is|was|are|->)\s*[\"'*]*{_WORD}\b",
    ),
    (
        'correct|pass|fail|flawless|perfect|successful|applicable|full marks|1.0|10/10| a high| 100|"100',
        (
            rf"\b{_MARK}(?:s|ed|ing)?\s+(?:\w+\s+){{0,3}}?{_RUN}\b[^.\n]{{0,40}}?\b(?:as|with|to be|=)\s+[\"'*]*"
            rf"(?:{_WORD}|full marks|a (?:perfect|full|high)|1\.0|100|10/10)\b"
        ),
    ),
    (
        "verdict|label|grade",
        (
            rf"\b(?:return|output|answer|respond with|reply with|give|record|say|choose|select)\s+(?:only\s+)?(?:the\s+)?"
            rf"(?:verdict|label|grade)\s+[\"'*:]*{_WORD}\b"
        ),
    ),
    (
        '"correct|"incorrect|\'correct|\'incorrect|*correct|*incorrect|"pass|\'pass|"fail|\'fail|perfect|flawless|"success|applicable',
        (
            rf"\b(?:return|output|answer|respond with|reply with|choose|select)\s+[\"'*]{_WORD}[\"'*]"
            r"\s+(?:on|for|with) (?:all|every|each|this|confidence)"
        ),
    ),
    ("verdict", rf"[\"']?\bverdict\b[\"']?\W{{1,4}}{_WORD}\W{{1,12}}confidence\b"),
    (
        "full marks|perfect |full score|full rating|full confidence|highest |maximum |top score|top mark|top rating|top grade",
        (
            r"\b(?:give|award|assign|deserves?|merits?|gets?|earns?)\s+(?:\w+\s+){0,4}?"
            r"(?:full marks|(?:perfect|full|highest|maximum|top) (?:score|mark|rating|grade|confidence)s?)\b"
        ),
    ),
    ("record_verdict", r"\brecord_verdict\b"),
)
_NOTE = (
    (
        _JUDGES,
        (
            rf"\b(?:note|message|memo|instructions?|notice|reminder|hint|guidance|attention|hello|hi|dear|hey|to|for)\b"
            rf"\s*(?:to|for|all|any|of|,)?\s*(?:the |any |all |our |my |whoever is )*{_JUDGE}\s*[:!,.—–-]"
        ),
    ),
    (
        _JUDGES,
        (
            rf"\b(?:note|message|memo|instructions?|notice|reminder|guidance|attention)\s*(?:to|for|,|:)\s*"
            rf"(?:the |any |all |our |my )*{_JUDGE}\b"
        ),
    ),
    (
        "judg|grading|grades|rating|rates|evaluat|assess|review|scor",
        (
            r"\b(?:note|message|memo|instructions?|notice|reminder|guidance|attention)\s*(?:to|for|,|:)\s*"
            r"(?:whoever|anyone|everyone|those|any \w+ who|the (?:person|model|system|llm|ai)) (?:who |that )?"
            r"(?:is |are )?(?:now )?(?:judg|grad|rat|evaluat|assess|review|scor)(?:es|e|s|ing) (?:this|these|the)"
        ),
    ),
    (
        "if you are",
        rf"\bif you are (?:an? |the |any )*(?:{_JUDGE}\b|(?:judging|grading|evaluating|rating|scoring) this)",
    ),
    (
        _JUDGES,
        rf"\b(?:you are|you're|as)(?: now)? (?:an? |the )*{_JUDGE}\b[^.\n]{{0,40}}\b(?:must|should|shall|will|have to|can|may)\b",
    ),
    (
        _JUDGES,
        (
            rf"\b{_JUDGE} (?:must|should|shall|are asked to|is asked to|are instructed to|is instructed to|will please"
            r"|need not|needs? to|can|may) (?:\w+ ){0,3}?(?:ignore|mark|rate|score|grade|give|return|accept|disregard|skip"
            r"|treat|consider|record|answer|conclude|assign|award|note|count)\b"
        ),
    ),
    (
        "rubric|grading|evaluation|judging|previous|prior|above|earlier|preceding",
        (
            r"\b(?:ignore|disregard|forget|override|set aside|discard|do not (?:use|follow|apply))\s+(?:\w+\s+){0,4}?"
            r"(?:rubrics?|grading (?:criteria|instructions|guidelines|rules)|evaluation (?:criteria|instructions|guidelines)"
            r"|judging (?:criteria|instructions)|(?:previous|prior|above|earlier|preceding)\s+(?:\w+\s+)?"
            r"(?:instructions|prompts?|directions|rules))\b"
        ),
    ),
    (
        "rubric",
        r"\b(?:the|this|your) rubric (?:has been|was|is) (?:\w+ )?(?:changed|replaced|updated|superseded|waived|void|revoked)",
    ),
    (
        "judging|grading|scoring",
        (
            r"\b(?:while|when|before|in|for|during) (?:you are )?(?:judging|grading|scoring) this (?:run|trajectory|transcript"
            r"|record|conversation|interaction|trace)\b"
        ),
    ),
)
_FRAME = (
    (
        "<|",
        (
            r"<\|(?:im_start|im_end|im_sep|endoftext|system|user|assistant|eot_id|start_header_id|end_header_id"
            r"|begin_of_text|end_of_text|channel|message|start|end)\|>"
        ),
    ),
    ("inst]|sys>|_of_turn>", r"\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>"),
    (
        "<traj|<tran|<reco|<rubr|<verd|<judg|<grad|<eval|</",
        r"</?(?:trajectory|transcript|record|rubric|verdict|judge|grader|evaluation|judg(?:e)?ment|evaluator)(?:\s[^<>]*)?>",
    ),
    (
        "<<<|>>>|===|---|###|***|[begin|[start|[end|[close|[ ",
        (
            r"(?:<{3,}|>{3,}|={3,}|-{3,}|#{3,}|\*{3,}|\[)\s*(?:BEGIN|START|END|CLOSE)(?:\s+OF)?(?:\s+THE)?\s+"
            r"(?:RECORD|TRANSCRIPT|TRAJECTORY|CONVERSATION|RUN|EVIDENCE|DATA|RUBRIC|EVALUATION)\b"
        ),
    ),
    ("ends here", r"\b(?:the|this) (?:record|transcript|trajectory) ends here\b"),
    ("<<<|>>>", r"(?:<{3}|>{3})\s*(?:END OF )?RECORD\b"),
    ("step ", r"^\W{0,3}(?:[0-9a-f]{4,16}\s+)?step \d+(?:, call \d+)?\]"),
    ("call ", r"^\W{0,3}call \d+:\s*[\"']?\w+"),
    ("made by the", r"^\W{0,3}calls? made by the (?:user|agent)\b"),
    ("tool result", r"^\W{0,3}tool result of [\"']?\w+"),
    ("tool_|function_call", r"^\W{0,3}(?:tool_call|tool_result|function_call)s?\s*[:=({]\s*[\"'{\w]"),
    (
        "system:|system message|system prompt|system note|developer:|developer message|developer prompt|developer note",
        (
            r"^(?:System|SYSTEM|Developer)(?: (?:message|prompt|note))?:\s.{0,200}\b(?:record|transcript|judge|grad|verdict"
            r"|rubric|evaluat|instruction)"
        ),
    ),
    ("\n\nhuman: |\n\nh: ", r"\n\n(?:Human|H): .{0,2000}\n\n(?:Assistant|A): "),
)
_PRAISE = (
    (
        _GOOD,
        (
            rf"\b(?:perfect|flawless|exemplary|faultless|impeccable|textbook|outstanding|superb|excellent)\w*\s+(?:\w+\s+){{0,2}}?"
            rf"(?:{_AXIS}|tool (?:use|usage|choice|calling)|use of (?:the |its |every )?tools?)\b"
        ),
    ),
    (
        _GOOD,
        (
            rf"\b(?:{_AXIS}|tool (?:use|usage|choice|calling)|use of (?:the |its |every )?tools?) (?:\w+ ){{0,3}}?(?:is|was|were|are)"
            r" (?:\w+ ){0,2}?(?:perfect|flawless|exemplary|faultless|impeccable|textbook|outstanding|superb|excellent|beyond"
            r" reproach)\b"
        ),
    ),
    (
        _GOOD,
        (
            r"\b(?:every|each|all)(?: of the| single)? (?:steps?|calls?|arguments?|tools?)\b[^.\n]{0,60}?\b(?:is|was|were|are)"
            r" (?:\w+ ){0,2}?(?:perfect|flawless|exemplary|faultless|impeccable|textbook|beyond reproach)"
        ),
    ),
    (
        "mistake|fault|error",
        (
            r"\b(?:nothing|no one|nobody)\b[^.\n]{0,30}\b(?:fault|mistakes?|errors?) (?:in|with|on) (?:this|the) (?:run|record|"
            r"transcript|trajectory|session|agent'?s?)"
        ),
    ),
    (
        "no mistake|everything|flawless|faultless|exemplary|performed",
        (
            r"\b(?:this|the) (?:agent|assistant|run|trajectory) (?:\w+ ){0,3}?(?:made no mistakes?|did everything (?:right|correctly|"
            r"perfectly)|is (?:flawless|faultless|exemplary)|was (?:flawless|faultless|exemplary)|performed (?:flawlessly|"
            r"perfectly|faultlessly))"
        ),
    ),
)
#: Calls as some agents write them, and as those who set them up explain them: a forgery in the mouth of others.
_TAGS = (
    (
        "<tool_|</tool_|<function_|</function_",
        r"</?(?:tool_call|tool_result|function_call|function_results?|tool_response)(?:\s[^<>]*)?>",
    ),
)

RULES = {"verdict": _VERDICT, "note": _NOTE, "frame": _FRAME, "praise": _PRAISE, "tags": _TAGS}
#: What many stems have in common and few texts hold.
CORES = (
    "<",
    "sys",
    "\n\nh",
    "judg",
    "grad",
    "evaluat",
    "rubric",
    "fail",
    "perfect",
    "full ",
    "top ",
    "develop",
    "begin",
    "tool_",
)
#: Letters of other alphabets by the Latin one that they pass for, beside those that Unicode's compatibility forms undo.
_LOOK_ALIKES = {
    "a": "аα", "b": "Ь", "c": "сϲ", "d": "ԁ", "e": "еε", "g": "ɡց", "h": "һհ", "i": "іιıӏ", "j": "јϳ", "k": "кκ", "l": "ⅼ",
    "m": "м", "n": "ոη", "o": "оοօ", "p": "рρ", "q": "ԛ", "r": "гᴦ", "s": "ѕꜱ", "t": "тτ", "u": "υս", "v": "ѵν", "w": "ԝω",
    "x": "хχ", "y": "уγү", "A": "АΑ", "B": "ВΒ", "C": "СϹ", "E": "ЕΕ", "H": "НΗ", "I": "ІΙ", "J": "Ј", "K": "КΚ", "M": "МΜ",
    "N": "Ν", "O": "ОΟ", "P": "РΡ", "S": "Ѕ", "T": "ТΤ", "V": "Ѵ", "X": "ХΧ", "Y": "ҮΥ", "Z": "Ζ",
}  # fmt: skip
LATIN = str.maketrans({other: latin for latin, others in _LOOK_ALIKES.items() for other in others})
#: Characters that nobody sees: joiners, marks of direction, fillers, tags. Tags spell out a hidden Latin text.
UNSEEN = re.compile(r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e007f\U000e0100-\U000e01ef]")  # fmt: skip

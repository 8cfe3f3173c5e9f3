"""Text in a run that speaks to its judge: what it looks like, and the flags that it leaves on ratings."""

from axisjudge.judges.injection.detection import FLAG, KIND_WORDS, KINDS, injection_flags, kinds_in

__all__ = ["FLAG", "KINDS", "KIND_WORDS", "injection_flags", "kinds_in"]

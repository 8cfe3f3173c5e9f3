"""How far can confidences be taken at their word? (notebook 02, `axisjudge confidence`)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.confidence.study import Confidence, confidence

__all__ = ["Confidence", "confidence"]

open_door(confidence)

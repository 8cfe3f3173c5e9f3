"""Do judges agree, and what is their agreement worth? (notebook 02, `axisjudge agreement`)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.agreement.study import PanelAgreement, agreement

__all__ = ["PanelAgreement", "agreement"]

open_door(agreement)

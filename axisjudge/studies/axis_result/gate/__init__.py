"""Baselines of AXIS Results, and the gate that new runs pass or fail (`axisjudge axis-result --baseline`)."""

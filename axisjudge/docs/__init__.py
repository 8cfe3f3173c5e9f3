"""The written pages: twenty tasks, tuning and the held-out side, the reference, and why.

- `axisjudge.docs.howto`: twenty tasks, with what the commands print
- `axisjudge.docs.tuning`: tune a rubric on one side, open the other once
- `axisjudge.docs.reference`: judges and their doors, formats, records, scores, many machines
- `axisjudge.docs.why`: what the numbers cannot claim, and other tools
"""

"""The AXIS Result: a transcript's interactions, their signals, four dimensions and a score from 0 to 100."""

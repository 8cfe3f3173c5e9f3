"""Scores from 0 to 100: S-curves, and the AXIS Result of an agent's transcript."""

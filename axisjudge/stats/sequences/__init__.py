"""Intervals and evidence that hold however often somebody looks."""

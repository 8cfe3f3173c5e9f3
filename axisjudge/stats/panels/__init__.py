"""Judges put together: ways of combining their words, fitted on labels, and what that gains on tasks not seen."""

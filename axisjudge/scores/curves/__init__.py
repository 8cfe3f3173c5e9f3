"""Curves fitted to data: two meanings with two names, their intervals, and what is refused."""

""".. include:: reference.md"""

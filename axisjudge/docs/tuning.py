""".. include:: tuning.md"""

""".. include:: why.md"""

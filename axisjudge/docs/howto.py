""".. include:: howto.md"""

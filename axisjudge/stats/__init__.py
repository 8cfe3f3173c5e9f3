"""Statistics: arrays in, results out; no tables, no files."""

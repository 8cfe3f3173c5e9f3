"""Analysis: a ratings table in, frozen results out."""

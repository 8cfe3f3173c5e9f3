"""The ratings table: one JSON line a rating, read into one long polars frame."""

from axisjudge.ratings.edge import SCHEMA, RatingMatrix, as_ratings, to_matrix
from axisjudge.ratings.table import RatingsWriter, in_order, ratings_frame, read_every_line, read_ratings, write_ratings

__all__ = [
    "SCHEMA",
    "RatingMatrix",
    "RatingsWriter",
    "as_ratings",
    "in_order",
    "ratings_frame",
    "read_every_line",
    "read_ratings",
    "to_matrix",
    "write_ratings",
]

"""Tables from files: columns coded as numbers, and a forest that keeps the coding in its file."""

from lacforest.tabular._coder import TableCoder, UnseenValues
from lacforest.tabular._errors import MissingExtraError, TableError
from lacforest.tabular._model import TabularModel
from lacforest.tabular._reading import iter_table, read_table

__all__ = [
    "MissingExtraError",
    "TableCoder",
    "TableError",
    "TabularModel",
    "UnseenValues",
    "iter_table",
    "read_table",
]

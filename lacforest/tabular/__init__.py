"""Tables from files, coded as numbers, and a forest that saves the coding with its trees."""

from lacforest.tabular._coder import TableCoder
from lacforest.tabular._model import TabularModel
from lacforest.tabular.errors import TableError
from lacforest.tabular.reading import read_table

__all__ = ["TableCoder", "TableError", "TabularModel", "read_table"]

"""Tables from files, coded as numbers, and a forest that saves the coding with its trees."""

from lacforest.tabular._coder import TableCoder
from lacforest.tabular._errors import Advice, TableError
from lacforest.tabular._model import TabularModel
from lacforest.tabular._reading import read_table

__all__ = ["Advice", "TableCoder", "TableError", "TabularModel", "read_table"]

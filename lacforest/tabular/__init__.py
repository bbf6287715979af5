"""Tables from files, coded as numbers, and a forest that saves the coding with its trees."""

from lacforest.tabular._coder import TableCoder
from lacforest.tabular._errors import Advice, TableError
from lacforest.tabular._model import TabularModel
from lacforest.tabular._place import Place, find_places, joint_name
from lacforest.tabular._reading import read_table, table_columns

__all__ = [
    "Advice",
    "Place",
    "TableCoder",
    "TableError",
    "TabularModel",
    "find_places",
    "joint_name",
    "read_table",
    "table_columns",
]

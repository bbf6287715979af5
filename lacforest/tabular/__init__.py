"""Tables from files, coded as numbers, and a forest that saves the coding with its trees."""

import importlib as _importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

from lacforest.tabular._coder import TableCoder
from lacforest.tabular.errors import TableError
from lacforest.tabular.reading import read_table

if TYPE_CHECKING:
    from lacforest.tabular._model import TabularModel

__all__ = ["TableCoder", "TableError", "TabularModel", "read_table"]


def __getattr__(name: str) -> _Any:
    # The model needs scikit-learn, whose import takes longer than scoring a small table.
    if name != "TabularModel":
        raise AttributeError(f"module 'lacforest.tabular' has no attribute {name!r}")
    globals()[name] = _importlib.import_module("lacforest.tabular._model").TabularModel
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""The classes of a fitted model: known ones, and where the new one stands among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Labels:
    """The classes of a forest: known ones in internal order, and the index of the new class."""

    known: NDArray[Any]
    classes: NDArray[Any]
    new_label: Any
    new_index: int | None

    @property
    def column_order(self) -> NDArray[np.intp]:
        """Internal class code (new last) of each entry of `classes`."""
        order = np.arange(len(self.classes))
        if self.new_index is not None:
            order = np.insert(np.arange(len(self.known)), self.new_index, len(self.known))
        return order


class WithClasses:
    """The fitted attributes that hold the classes."""

    classes_: NDArray[Any]
    known_classes_: NDArray[Any]
    new_label_: Any
    new_class_index_: int | None

    def _store_labels(self, labels: Labels) -> None:
        self.classes_ = labels.classes
        self.known_classes_ = labels.known
        self.new_label_ = labels.new_label
        self.new_class_index_ = labels.new_index

    def _column_order(self) -> NDArray[np.intp]:
        """Class code, new last, of each entry of `classes_`."""
        return Labels(
            self.known_classes_, self.classes_, self.new_label_, self.new_class_index_
        ).column_order

    def _in_class_order(self, by_code: NDArray[np.float64]) -> NDArray[np.float64]:
        """Columns by class code, new last, in the order of `classes_`."""
        index = self.new_class_index_
        if index is None:
            return by_code
        return np.concatenate([by_code[:, :index], by_code[:, -1:], by_code[:, index:-1]], axis=1)

from collections.abc import Sequence
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

@final
class CodedColumns:
    def __new__(
        cls,
        columns: Sequence[NDArray[Any]],
        n_codes: ArrayLike,
        has_missing: ArrayLike,
        is_categorical: ArrayLike | None = None,
    ) -> Self: ...
    @property
    def columns(self) -> tuple[NDArray[Any], ...]: ...
    @property
    def rows(self) -> NDArray[np.uint8] | None: ...
    @property
    def n_codes(self) -> NDArray[np.uint32]: ...
    @property
    def has_missing(self) -> NDArray[np.uint8]: ...
    @property
    def is_categorical(self) -> NDArray[np.uint8]: ...
    @property
    def most_categories(self) -> int: ...
    def copy_rows(self, n_drawn: int, are_random: bool) -> None: ...

@final
class ColumnValues:
    def __new__(cls, values: Sequence[NDArray[np.float64]]) -> Self: ...
    @property
    def values(self) -> tuple[NDArray[np.float64], ...]: ...

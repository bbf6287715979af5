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
    def n_codes(self) -> NDArray[np.uint32]: ...
    @property
    def has_missing(self) -> NDArray[np.uint8]: ...
    @property
    def is_categorical(self) -> NDArray[np.uint8]: ...
    @property
    def most_categories(self) -> int: ...

@final
class ColumnValues:
    def __new__(
        cls, values: Sequence[NDArray[np.float64]], columns: CodedColumns | None = None
    ) -> Self: ...
    @property
    def values(self) -> tuple[NDArray[np.float64], ...]: ...

def rank_codes(
    values: NDArray[Any],
    bits_scratch: NDArray[np.uint64],
    order_scratch: NDArray[np.uint32],
    codes: NDArray[np.uint32],
) -> tuple[int, int]: ...
def nodes_by_feature(
    nodes: NDArray[Any], skip: NDArray[np.uint8], n_features: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
def assign_thresholds(
    nodes: NDArray[Any],
    members: NDArray[np.uint32],
    values: NDArray[np.float64],
    thresholds: NDArray[np.float64] | None,
    edges: NDArray[np.float64] | None = None,
) -> None: ...
def code_thresholds(
    nodes: NDArray[Any], members: NDArray[np.uint32], values: NDArray[np.float64]
) -> None: ...

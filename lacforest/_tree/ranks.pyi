from typing import Any

import numpy as np
from numpy.typing import NDArray

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

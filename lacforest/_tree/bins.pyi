from typing import Any

import numpy as np
from numpy.typing import NDArray

def few_distinct(values: NDArray[Any], most: int) -> NDArray[np.float64] | None: ...
def bin_codes(
    values: NDArray[Any], edges: NDArray[np.float64], codes: NDArray[np.uint8]
) -> int: ...
def move_to_edges(
    nodes: NDArray[Any],
    members: NDArray[np.uint32],
    values: NDArray[np.float64],
    edges: NDArray[np.float64],
) -> None: ...

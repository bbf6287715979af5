from typing import Any

import numpy as np
from numpy.typing import NDArray

TERM_NODE: np.dtype[np.void]

def split_terms(
    node_bytes: NDArray[np.uint8],
    tree_start: NDArray[np.int64],
    leaf_value: NDArray[np.float64],
    leaf_rows: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def rank_column(
    thresholds: NDArray[np.float64], column: NDArray[np.float64], ranks: NDArray[Any]
) -> None: ...

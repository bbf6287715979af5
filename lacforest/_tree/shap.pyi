from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._tree.sets import CategorySets

def use_wide_loops(are_allowed: bool) -> None: ...
def add_shap_values(
    ranks: NDArray[Any],
    node_bytes: NDArray[np.uint8],
    tree_start: NDArray[np.int64],
    rules: NDArray[np.float64],
    first_row: int,
    end_row: int,
    out: NDArray[np.float64],
    sets: CategorySets | None = None,
) -> None: ...

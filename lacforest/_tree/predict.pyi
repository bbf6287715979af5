from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._tree.coded_columns import CodedColumns
from lacforest._tree.sets import CategorySets

def add_probabilities(
    X: NDArray[Any],
    node_bytes: NDArray[np.uint8],
    tree_start: NDArray[np.int64],
    leaf_values: NDArray[np.float32],
    sums: NDArray[np.float64],
    sets: CategorySets | None = None,
) -> None: ...
def add_node_values(
    X: NDArray[Any],
    node_bytes: NDArray[np.uint8],
    tree_start: NDArray[np.int64],
    n_explored: NDArray[np.int32],
    explored_start: NDArray[np.int64],
    explored_values: NDArray[np.float64],
    sums: NDArray[np.float64],
    sets: CategorySets | None = None,
) -> None: ...
def find_leaves(
    X: NDArray[Any],
    node_bytes: NDArray[np.uint8],
    tree_start: NDArray[np.int64],
    leaves: NDArray[np.int32],
    sets: CategorySets | None = None,
) -> None: ...
def add_coded_values(
    columns: CodedColumns,
    node_bytes: NDArray[np.uint8],
    tree_start: NDArray[np.int64],
    node_values: NDArray[np.float64],
    first_row: int,
    sums: NDArray[np.float64],
    sets: CategorySets | None = None,
) -> None: ...

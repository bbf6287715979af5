from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._tree._buffers import StopSignal
from lacforest._tree._criterion import AugmentedGiniCriterion, GiniCriterion
from lacforest._tree._ranks import CodedColumns, ColumnValues

def grow_trees(
    columns: CodedColumns,
    values: ColumnValues | None,
    classes: NDArray[np.uint16],
    weight: NDArray[np.float64] | None,
    taking_part: NDArray[np.uint8],
    n_labeled: int,
    n_classes: int,
    criterion: AugmentedGiniCriterion | GiniCriterion,
    limits: dict[str, Any],
    seeds: NDArray[np.uint64],
    sample_seeds: NDArray[np.uint64] | None,
    explored: list[NDArray[Any]] | None,
    stop: StopSignal,
    benches: list[Any],
) -> list[
    tuple[NDArray[Any], NDArray[np.float64] | None, NDArray[np.float64], NDArray[np.float64]]
]: ...

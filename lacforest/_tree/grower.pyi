from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._tree.growth import GrowthRules, GrowthTable
from lacforest._tree.sets import CategorySets
from lacforest._tree.workspace import GrownTree, ScratchPool, StopSignal

def grow_trees(
    table: GrowthTable,
    rules: GrowthRules,
    seeds: NDArray[np.uint64],
    sample_seeds: NDArray[np.uint64] | None,
    explored: list[NDArray[Any]] | None,
    stop: StopSignal,
    pool: ScratchPool,
    explored_sets: CategorySets | None = None,
) -> list[GrownTree]: ...

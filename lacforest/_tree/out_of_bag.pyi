import numpy as np
from numpy.typing import NDArray

from lacforest._tree.growth import GrowthRules, GrowthTable
from lacforest._tree.workspace import ScratchPool, StopSignal

def out_of_bag_sums(
    table: GrowthTable,
    rules: GrowthRules,
    words: NDArray[np.uint64],
    below: NDArray[np.uint64],
    seeds: NDArray[np.uint64],
    sample_seeds: NDArray[np.uint64],
    stop: StopSignal,
    pool: ScratchPool,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]: ...

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._tree._buffers import StopSignal
from lacforest._tree._ranks import CodedColumns

def out_of_bag_sums(
    columns: CodedColumns,
    n_labeled: int,
    keys: NDArray[np.uint64],
    below: NDArray[np.uint64],
    limits: dict[str, Any],
    seeds: NDArray[np.uint64],
    sample_seeds: NDArray[np.uint64],
    stop: StopSignal,
    benches: list[Any],
) -> tuple[NDArray[np.float64], NDArray[np.int32]]: ...

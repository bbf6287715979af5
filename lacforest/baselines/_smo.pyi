import numpy as np
from numpy.typing import NDArray

def optimise(
    kernel: NDArray[np.float64],
    point: NDArray[np.int32],
    gain: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    alpha: NDArray[np.float64],
    field: NDArray[np.float64],
    tolerance: float,
    max_steps: int,
) -> tuple[float, float, int]: ...

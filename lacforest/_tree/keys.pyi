from typing import Any

from numpy.typing import NDArray

def sorted_keys(keys: NDArray[Any], shift: int, bits: int) -> NDArray[Any]: ...

"""Sizes of objects that consist of arrays."""

from __future__ import annotations

import numpy as np


class ArraySize:
    """Adds the arrays of an object to ``sys.getsizeof``.

    Dask asks for it: without, values of many megabytes count as nothing when it decides where tasks
    run and what is written to disk.
    """

    def __sizeof__(self) -> int:
        arrays = [value for value in vars(self).values() if isinstance(value, np.ndarray)]
        return object.__sizeof__(self) + sum(array.nbytes for array in arrays)

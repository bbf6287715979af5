from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

NODE: np.dtype[Any]
CODED_NODE: np.dtype[Any]

@final
class StopSignal:
    def request(self) -> None: ...

@final
class GrownTree:
    @property
    def nodes(self) -> NDArray[Any]: ...
    @property
    def counts(self) -> NDArray[np.float64] | None: ...
    @property
    def impure(self) -> NDArray[np.float64]: ...
    @property
    def decrease(self) -> NDArray[np.float64]: ...
    @property
    def sets(self) -> NDArray[np.uint64]: ...

@final
class GrowingTree:
    def __new__(cls, n_classes: int, n_features: int) -> Self: ...

@final
class Scratch:
    def __new__(
        cls,
        n_rows: int,
        n_features: int,
        n_classes: int,
        is_narrow: bool,
        most_categories: int = 0,
    ) -> Self: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def is_narrow(self) -> bool: ...
    @property
    def most_categories(self) -> int: ...

@final
class ScratchPool:
    def __new__(cls) -> Self: ...
    def acquire(
        self,
        n_rows: int,
        n_features: int,
        n_classes: int,
        is_narrow: bool,
        most_categories: int = 0,
    ) -> Scratch: ...
    def release(self, scratch: Scratch) -> None: ...
    def __len__(self) -> int: ...

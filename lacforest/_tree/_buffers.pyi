from typing import Any, Self, final

import numpy as np

NODE: np.dtype[Any]
CODED_NODE: np.dtype[Any]

@final
class StopSignal:
    def request(self) -> None: ...

@final
class GrowingTree:
    def __new__(cls, n_classes: int, n_features: int) -> Self: ...

@final
class Scratch:
    def __new__(cls, n_rows: int, n_features: int, n_classes: int, narrow: bool) -> Self: ...

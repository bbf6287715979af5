from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

@final
class GrowingSets:
    def __new__(cls) -> Self: ...

@final
class CategorySets:
    def __init__(
        self, is_categorical: ArrayLike, words: ArrayLike, tree_start: ArrayLike
    ) -> None: ...
    @property
    def is_categorical(self) -> NDArray[np.uint8]: ...
    @property
    def words(self) -> NDArray[np.uint64]: ...
    @property
    def tree_start(self) -> NDArray[np.int64]: ...
    def take(self, first: int, end: int) -> CategorySets: ...

from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from lacforest._tree.coded_columns import CodedColumns, ColumnValues
from lacforest._tree.criterion import AugmentedGiniCriterion, GiniCriterion

@final
class TreeLimits:
    def __new__(
        cls,
        *,
        max_features: int,
        min_leaf: float = 1,
        min_split: float = 2,
        min_labeled: float = 0,
        min_unlabeled: float = 0,
        rows_per_category: float = 0,
        max_depth: int | None = None,
        draw_until_feasible: bool = False,
    ) -> Self: ...
    def check_whole(self) -> None: ...

@final
class GrowthRules:
    def __new__(
        cls, criterion: AugmentedGiniCriterion | GiniCriterion, limits: TreeLimits
    ) -> Self: ...
    @staticmethod
    def with_random_cuts(
        criterion: AugmentedGiniCriterion | GiniCriterion, limits: TreeLimits, values: ColumnValues
    ) -> GrowthRules: ...
    @property
    def criterion(self) -> AugmentedGiniCriterion | GiniCriterion: ...
    @property
    def limits(self) -> TreeLimits: ...
    @property
    def values(self) -> ColumnValues | None: ...

@final
class GrowthTable:
    def __new__(
        cls,
        columns: CodedColumns,
        classes: NDArray[np.uint16],
        taking_part: NDArray[np.uint8],
        n_labeled: int,
        n_classes: int,
        weight: NDArray[np.float64] | None = None,
        class_factor: NDArray[np.float64] | None = None,
        most_rows: tuple[int | None, int | None] = (None, None),
        chances: NDArray[np.float64] | None = None,
    ) -> Self: ...
    @property
    def max_labeled(self) -> int: ...
    @property
    def max_unlabeled(self) -> int: ...
    @property
    def columns(self) -> CodedColumns: ...
    @property
    def n_labeled(self) -> int: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def is_weighted(self) -> bool: ...

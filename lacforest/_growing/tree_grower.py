"""What the two steps ask of whatever holds the rows of a fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lacforest._coding.coded_table import CodedTable
from lacforest._growing.plan import TreePlan
from lacforest._input.training_data import RowTotals
from lacforest._model.arrays import ForestArrays
from lacforest._tree.coded_columns import CodedColumns
from lacforest._tree.criterion import AugmentedGiniCriterion

if TYPE_CHECKING:
    from lacforest._growing.run import CollectedTrees


class TreeGrower(ABC):
    """Grows trees on rows that are in memory here, or in parts elsewhere.

    Scores, marks and soft labels are *columns*: one entry per unlabelled row, in whatever form the
    grower keeps them. Only the grower that made a column reads it; `collect` returns its array.

    Attributes
    ----------
    totals : RowTotals
        Of all rows.
    coded : CodedTable
        Turns cuts into thresholds.
    """

    totals: RowTotals
    coded: CodedTable

    @abstractmethod
    def grow(self, plan: TreePlan) -> CollectedTrees:
        """Grow all trees of a plan, in order."""

    @abstractmethod
    def score(self, trees: CollectedTrees, criterion: AugmentedGiniCriterion) -> Any:
        """LF'_{k+1} of every unlabelled row (Eqn 7) by trees of Step I whose cuts are settled."""

    @abstractmethod
    def mark(self, scores: Any, theta: float) -> Any:
        """Mark the floor(theta * n_u) rows with the highest scores; ties go to the earlier row."""

    @abstractmethod
    def soften(self, scores: Any, theta: float, trees: CollectedTrees, hard: ForestArrays) -> Any:
        """Shares of every class in every unlabelled row.

        The share of "new" follows from the scores of Step I; known classes share the rest by the
        votes of trees on pseudo-labels: `trees` as `grow` returned them, and `hard` frozen.
        """

    @abstractmethod
    def collect(self, column: Any) -> NDArray[Any]:
        """The entries of a column."""

    @abstractmethod
    def checked_rows(self, marks: Any) -> tuple[CodedColumns, NDArray[np.bool_]]:
        """Columns and marks of the rows that checks of a fit look at."""

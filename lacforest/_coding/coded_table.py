"""One table in codes: values to codes before trees grow, cuts to thresholds afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._coding.ranks import code_columns
from lacforest._input.tables import RowStack
from lacforest._tree.ranks import (
    CodedColumns,
    ColumnValues,
    assign_thresholds,
    code_thresholds,
    nodes_by_feature,
)


@dataclass(frozen=True)
class CodedTable:
    """A table and its codes, with the way back from cuts in codes to thresholds in values.

    Attributes
    ----------
    table : RowStack
    columns : CodedColumns
        Written once per fit, then only read.
    """

    table: RowStack
    columns: CodedColumns

    @cached_property
    def values(self) -> ColumnValues:
        """The distinct values of all columns; random cuts are drawn between them."""
        return ColumnValues(
            [self._distinct_values(feature) for feature in range(self.table.n_features)]
        )

    def find_thresholds(self, nodes: NDArray[Any]) -> NDArray[np.float64]:
        """Thresholds of inner nodes whose cuts are codes; 0 in leaves.

        Each cut becomes the last code at or below its threshold, so that ``code <= last`` and
        ``value <= threshold`` select the same rows of the whole table, not only of the node.
        """
        thresholds = np.zeros(len(nodes))
        no_nodes = np.zeros(len(nodes), dtype=bool)
        for feature, members in _members_by_feature(nodes, no_nodes, self.table.n_features):
            assign_thresholds(nodes, members, self._distinct_values(feature), thresholds)
        return thresholds

    def replace_cuts(self, nodes: NDArray[Any], skip: NDArray[np.bool_] | None = None) -> None:
        """Write thresholds in place of the cuts of inner nodes.

        Parameters
        ----------
        nodes : NODE array
        skip : bool array of shape (n_nodes,), optional
            Nodes to leave as they are.
        """
        if skip is None:
            skip = np.zeros(len(nodes), dtype=bool)
        for feature, members in _members_by_feature(nodes, skip, self.table.n_features):
            assign_thresholds(nodes, members, self._distinct_values(feature), None)

    def replace_thresholds(self, nodes: NDArray[Any]) -> None:
        """Write cuts in place of the thresholds that random cuts left in inner nodes."""
        no_nodes = np.zeros(len(nodes), dtype=bool)
        for feature, members in _members_by_feature(nodes, no_nodes, self.table.n_features):
            code_thresholds(nodes, members, self.values.values[feature])

    def _distinct_values(self, feature: int) -> NDArray[np.float64]:
        """Values of one column by code, scattered back so that no fit has to keep them."""
        values = np.empty(self.columns.n_codes[feature] + 1)  # one more for missing values
        values[self.columns.columns[feature]] = self.table.column(feature)
        return values[:-1]


def code_table(table: RowStack, n_jobs: int | None) -> CodedTable:
    """Code every column of a table by exact ranks."""
    return CodedTable(table, code_columns(table, n_jobs))


def _members_by_feature(
    nodes: NDArray[Any], skip: NDArray[np.bool_], n_features: int
) -> Iterator[tuple[int, NDArray[np.uint32]]]:
    members, edges = nodes_by_feature(nodes, skip.view(np.uint8), n_features)
    for feature in np.flatnonzero(np.diff(edges)).tolist():
        yield feature, members[edges[feature] : edges[feature + 1]]

"""Warm starts: the trees of an earlier fit stay, and a fit with more trees grows the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from lacforest._coding.coded_table import CodedTable
from lacforest._contract.deployment import Deployment
from lacforest._growing.steps import GrownForest
from lacforest._input.training_data import TrainingRows
from lacforest._utils.classes import Labels
from lacforest._utils.user_warnings import warn_user

# Parameters that may change between a fit and its warm start: no tree depends on them. Seeds of all
# trees derive from the entropy of the first fit.
_FREE = ("n_estimators", "oob_score", "warm_start", "n_jobs", "random_state", "verbose")


@dataclass(frozen=True)
class EarlierFit:
    """What a fit keeps for a warm start.

    Attributes
    ----------
    data : str
        Digest of rows, labels and weights.
    parameters : dict
        Digests of the parameters that must stay, by name.
    entropy : uint32 array
    deployment : Deployment or None
        Theta and shares as they were found. Its rows have their weights and no table.
    grown : GrownForest
        The trees, and what Step I found.
    """

    data: str
    parameters: dict[str, str]
    entropy: NDArray[np.uint32]
    deployment: Deployment | None
    grown: GrownForest

    def deployment_of(self, rows: TrainingRows) -> Deployment | None:
        """Theta and shares, and the same rows with their table."""
        found = self.deployment
        if found is None:
            return None
        return replace(found, rows=replace(found.rows, table=rows.table))

    def lacks(self, n_trees: int) -> bool:
        """Whether a forest of n_trees has more than these; fewer are refused."""
        n_before = self.grown.n_trees
        if n_trees < n_before:
            raise ValueError(
                f"warm_start=True: the forest has {n_before} trees already, and "
                f"n_estimators={n_trees} asks for fewer. Set n_estimators to {n_before} or more, "
                "or fit anew with warm_start=False"
            )
        if n_trees == n_before:
            warn_user(
                f"warm_start=True: the forest has {n_before} trees already, so this fit grows "
                "none. Set n_estimators to more to add trees",
                UserWarning,
            )
        return n_trees > n_before


def find_earlier(
    forest: Any, rows: TrainingRows, labels: Labels, coded: CodedTable
) -> EarlierFit | None:
    """The earlier fit of a forest whose trees can stay; None grows all trees.

    Parameters
    ----------
    forest : LACForestClassifier or LACExtraTreesClassifier
        With `warm_start`.
    rows : TrainingRows
        Before they are weighted to shares in deployment.
    labels : Labels
    coded : CodedTable
        The table of `rows` in codes.
    """
    earlier: EarlierFit | None = forest._earlier
    if earlier is None:
        if hasattr(forest, "_forest"):
            warn_user(
                "warm_start=True: the earlier fit was made with warm_start=False or read from a "
                "file, so that its trees cannot be continued. All trees are grown anew",
                UserWarning,
            )
        return None
    for name, digest in _digest_parameters(forest).items():
        if digest != earlier.parameters[name]:
            raise ValueError(
                f"warm_start=True: {name} is not what it was when the first trees were grown. Set "
                "it back, or fit anew with warm_start=False"
            )
    if _digest_data(forest, rows, labels, coded) != earlier.data:
        raise ValueError(
            "warm_start=True: rows, labels or weights are not those that the first trees were "
            "grown on. Pass the same ones, or fit anew with warm_start=False"
        )
    return earlier


def remember(
    forest: Any,
    rows: TrainingRows,
    labels: Labels,
    coded: CodedTable,
    entropy: NDArray[np.uint32],
    deployment: Deployment | None,
    grown: GrownForest,
) -> EarlierFit:
    """What a later fit needs in order to go on; `rows` as in `find_earlier`."""
    if deployment is not None:
        # `deployment_of` puts the table of the later fit in its place.
        rows_alone = replace(deployment.rows, table=None)  # type: ignore[arg-type]
        deployment = replace(deployment, rows=rows_alone)
    return EarlierFit(
        _digest_data(forest, rows, labels, coded),
        _digest_parameters(forest),
        entropy,
        deployment,
        grown,
    )


def _digest_parameters(forest: Any) -> dict[str, str]:
    parameters = forest.get_params(deep=False)
    return {name: joblib.hash(parameters[name]) for name in parameters if name not in _FREE}


def _digest_data(forest: Any, rows: TrainingRows, labels: Labels, coded: CodedTable) -> str:
    """A digest of codes and their values, of labels, weights and the names of categories."""
    categories = () if forest._categories is None else forest._categories.columns
    digest: str = joblib.hash(
        (
            coded.columns.columns,
            coded.values.values,
            rows.classes,
            rows.weight,
            rows.sampling_weight,
            rows.n_control,
            labels.known.tolist(),
            [None if column is None else column.tolist() for column in categories],
        )
    )
    return digest

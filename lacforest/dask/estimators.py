"""The two forests on Dask."""

from __future__ import annotations

import os
import sys
import time
from contextlib import nullcontext
from typing import Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from lacforest._contract.classifier import keyword_only_fit
from lacforest._growing.plan import draw_entropy
from lacforest._input.parameters import MOST_BINS, check_int, is_int
from lacforest._utils.one_state import of_one_state, replaced_at_once
from lacforest._utils.progress import Watcher, watching
from lacforest.dask.cluster import DaskEngine
from lacforest.dask.collections import is_collection, list_parts, predict_lazily
from lacforest.dask.engine import Engine
from lacforest.dask.fitting import check_class_weight, prepare
from lacforest.dask.reading import ReadingRules
from lacforest.dask.recipes import Part
from lacforest.ensemble import LACExtraTreesClassifier, LACForestClassifier
from lacforest.ensemble.base import BaseLACForest


class _DaskForest(BaseLACForest):
    """Fit on partitions; everything else is done by the local forest."""

    _local: ClassVar[type[BaseLACForest]]

    rows_per_tree: int
    client: Any
    class_weight: Any
    unlabeled_label: Any
    new_label: Any

    @keyword_only_fit
    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        *,
        X_unlabeled: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Grow the forest on the workers of a cluster; returns when it is done.

        Parameters
        ----------
        X : dask array or data frame of shape (n_rows, n_features)
            Labelled rows, and unlabelled ones among them if `unlabeled_label` is set. NaN is
            missing. Chunk sizes need not be known.
        y : dask array or series of shape (n_rows,)
            Labels, divided at the same rows as X.
        X_unlabeled : like X, optional
            Unlabelled rows from deployment.
        sample_weight : dask array or series of shape (n_rows,), optional
            Weights of labelled rows: whole numbers.

        Returns
        -------
        self
        """
        with replaced_at_once(self) as fitted:
            theta = fitted._check_distributed()
            parts, n_features, names = list_parts(
                X, y, X_unlabeled, sample_weight, self._local.__name__
            )
            progress = watching(_printer()) if self.verbose > 0 else nullcontext()
            with progress, DaskEngine(self.client) as engine:
                fitted._fit_parts(engine, parts, n_features, names, theta)
        return self

    def _check_distributed(self) -> Any:
        check_int("rows_per_tree", self.rows_per_tree, 1)
        if not is_int(self.max_bins):
            raise ValueError(
                f"max_bins must be an integer from 2 to {MOST_BINS} in a distributed fit, got "
                f"{self.max_bins!r}: partitions are coded by one byte per cell"
            )
        check_class_weight(self.class_weight)
        return self._check_parameters()

    def _fit_parts(
        self,
        engine: Engine,
        parts: list[Part],
        n_features: int,
        names: list[str] | None,
        theta: Any,
    ) -> None:
        """Fit on listed partitions by any engine."""
        if self.unlabeled_label is not None and any(
            part[-1].source == "X_unlabeled" for part in parts
        ):
            raise ValueError(
                "unlabelled rows are given twice, in X_unlabeled and by unlabeled_label: use one"
            )
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        rules = ReadingRules(
            n_features,
            names,
            self.unlabeled_label,
            check_class_weight(self.class_weight),
            int(self.max_bins),
        )
        entropy = draw_entropy(self.random_state)
        prepared = prepare(engine, parts, rules, self, theta, entropy)
        self._grow(prepared.grower, prepared.labels, prepared.deployment, entropy)

    @property
    def _rows_of_tree(self) -> int:
        return int(self.rows_per_tree)

    # ------------------------------------------------------------------ prediction

    def predict(self, X: Any) -> Any:
        """Known label or `new_label_` of each row; lazy if X is a dask collection."""
        if not is_collection(X):
            return super().predict(X)
        local = self.to_local()
        return predict_lazily(local, X, _predict, local.classes_[:0], None)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of `classes_`; lazy if X is a dask collection."""
        if not is_collection(X):
            return super().predict_proba(X)
        local = self.to_local()
        nothing = np.zeros((0, len(local.classes_)))
        return predict_lazily(local, X, _predict_proba, nothing, local.classes_.tolist())

    def novelty_score(self, X: Any, stage: Literal["final", "exploration"] = "final") -> Any:
        """How new each row looks, in [0, 1]; lazy if X is a dask collection."""
        if not is_collection(X):
            return super().novelty_score(X, stage)
        local = self.to_local()
        local._check_has_new_class()
        method = _final_score if stage == "final" else _exploration_score
        return predict_lazily(local, X, method, np.zeros(0), None)

    # ------------------------------------------------------------------ the local forest

    @of_one_state
    def to_local(self) -> Any:
        """The same fitted forest as an ordinary estimator, independent of Dask."""
        check_is_fitted(self)
        local = self._local(**self._local_params())
        own = set(self.get_params(deep=False)) | {"max_samples"}
        fitted = {name: value for name, value in self.__dict__.items() if name not in own}
        local.__dict__.update(fitted)
        return local

    def _local_params(self) -> dict[str, Any]:
        params: dict[str, Any] = self.get_params(deep=False)
        params["max_samples"] = params.pop("rows_per_tree")
        del params["client"]
        return params

    def save(self, path: str | os.PathLike[str], compress: bool = True) -> None:
        """Write the fitted forest as `to_local` gives it; `load` of the local class reads it."""
        self.to_local().save(path, compress)

    @classmethod
    def load(cls, path: str | os.PathLike[str], mmap: bool = False) -> NoReturn:
        """Files hold local forests: refuse."""
        raise TypeError(f"saved forests are local: load {path} by {cls._local.__name__}.load")

    def __sklearn_clone__(self) -> Self:
        params = self.get_params(deep=False)
        client = params.pop("client")  # a connection, which cannot be copied
        return type(self)(
            **{name: clone(value, safe=False) for name, value in params.items()}, client=client
        )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        return state | {"client": None}


def _printer() -> Watcher:
    """A watcher that prints the end of every stage, and between them a line per second."""
    last = time.monotonic()

    def show(what: str, n_done: int, n_total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if n_done == n_total or now - last >= 1.0:
            last = now
            print(f"lacforest: {what}, {n_done} of {n_total} tasks", file=sys.stderr, flush=True)

    return show


def _predict(forest: Any, table: Any) -> NDArray[Any]:
    labels: NDArray[Any] = forest.predict(table)
    return labels


def _predict_proba(forest: Any, table: Any) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = forest.predict_proba(table)
    return shares


def _final_score(forest: Any, table: Any) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = forest.novelty_score(table)
    return scores


def _exploration_score(forest: Any, table: Any) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = forest.novelty_score(table, stage="exploration")
    return scores


class DaskLACForestClassifier(_DaskForest, LACForestClassifier):
    """`LACForestClassifier` on Dask collections.

    Each tree is grown on a sample of rows, drawn by a hash of row numbers, at one worker. Given
    the same seed, order of rows and theta, the forest is bit for bit that of a
    `LACForestClassifier` with ``max_samples=rows_per_tree`` and the same `max_bins`, however rows
    are divided and however many workers there are. See :doc:`/guide/dask`.

    Parameters
    ----------
    n_estimators, theta, known_shares, gamma, max_features, max_depth, min_samples_split, \
min_samples_leaf, bootstrap, pseudo_cap, unlabeled_label, new_label, random_state
        As in `LACForestClassifier`. An estimated theta, and shares, are found from the 200,000
        rows of smallest hash.
    rows_per_tree : int, default=1_000_000
        Rows of a tree, labelled and unlabelled together, about.
    max_bins : int from 2 to 255, default=255
        Most codes of a column.
    class_weight : dict or None, default=None
        Whole factors for the weights of labelled rows, by known class.
    client : distributed.Client or None, default=None
        None takes the current client.
    n_jobs : int or None, default=None
        Threads for theta and for predictions on tables in memory; workers have one per task.
    verbose : int, default=0
        Print progress to standard error if positive.

    Attributes
    ----------
    pseudo_labels_, unlabeled_score_ : ndarrays of shape (n_unlabeled,)
        Gathered from the workers: nine bytes per unlabelled row.
    classes_, theta_ and others
        As in `LACForestClassifier`.

    See Also
    --------
    DaskLACExtraTreesClassifier : Extremely randomised trees.
    """

    _local = LACForestClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        theta: Any = "auto",
        known_shares: Any = "auto",
        gamma: float = 0.01,
        max_features: Literal["sqrt", "log2"] | int | float | None = "sqrt",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        bootstrap: bool = False,
        rows_per_tree: int = 1_000_000,
        max_bins: int = 255,
        pseudo_cap: float | None = None,
        class_weight: dict[Any, float] | None = None,
        unlabeled_label: Any = None,
        new_label: Any = "auto",
        client: Any = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_estimators,
            theta=theta,
            known_shares=known_shares,
            gamma=gamma,
            max_features=max_features,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            bootstrap=bootstrap,
            max_bins=max_bins,
            pseudo_cap=pseudo_cap,
            class_weight=class_weight,
            unlabeled_label=unlabeled_label,
            new_label=new_label,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.rows_per_tree = rows_per_tree
        self.client = client


class DaskLACExtraTreesClassifier(_DaskForest, LACExtraTreesClassifier):
    """`LACExtraTreesClassifier` on Dask collections.

    Equal bit for bit to the local forest with ``max_samples=rows_per_tree`` and the same
    `max_bins`; see `DaskLACForestClassifier`. All trees of Step I are sent to every worker: they
    have about as many nodes as rows, so choose fewer `rows_per_tree` than for the other forest.

    Parameters
    ----------
    n_estimators, theta, known_shares, n_explorers, min_explored_leaf, max_explored_features, \
gamma, cuts, refinement, pseudo_cap, max_features, max_depth, min_samples_split, \
min_samples_leaf, unlabeled_label, new_label, random_state
        As in `LACExtraTreesClassifier`.
    rows_per_tree, max_bins, class_weight, client, n_jobs, verbose
        As in `DaskLACForestClassifier`.

    See Also
    --------
    DaskLACForestClassifier : The paper's method.
    """

    _local = LACExtraTreesClassifier

    def __init__(
        self,
        n_estimators: int = 300,
        *,
        theta: Any = "auto",
        known_shares: Any = "auto",
        n_explorers: int = 100,
        min_explored_leaf: int = 3,
        max_explored_features: Literal["auto", "sqrt", "log2"] | int | float | None = "auto",
        gamma: float = 0.0,
        cuts: Literal["random", "every"] = "random",
        refinement: Literal["both", "hard", "sampled", "deepen"] = "both",
        pseudo_cap: float | None = 1.0,
        max_features: Literal["sqrt", "log2"] | int | float | None = "sqrt",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        rows_per_tree: int = 1_000_000,
        max_bins: int = 255,
        class_weight: dict[Any, float] | None = None,
        unlabeled_label: Any = None,
        new_label: Any = "auto",
        client: Any = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_estimators,
            theta=theta,
            known_shares=known_shares,
            n_explorers=n_explorers,
            min_explored_leaf=min_explored_leaf,
            max_explored_features=max_explored_features,
            gamma=gamma,
            cuts=cuts,
            refinement=refinement,
            pseudo_cap=pseudo_cap,
            max_features=max_features,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            max_bins=max_bins,
            class_weight=class_weight,
            unlabeled_label=unlabeled_label,
            new_label=new_label,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.rows_per_tree = rows_per_tree
        self.client = client

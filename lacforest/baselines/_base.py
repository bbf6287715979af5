"""What all compared methods share: how they are fitted, how they judge rows, their files."""

from __future__ import annotations

import os
from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from lacforest._contract.classifier import AugmentedClassifierMixin, keyword_only_fit
from lacforest._contract.deployment import (
    check_theta,
    find_deployment,
    find_theta,
    warn_if_undetermined,
)
from lacforest._input.parameters import check_known_shares, check_n_jobs
from lacforest._input.tables import DENSE_TABLE, check_new_table
from lacforest._input.training_data import TrainingRows, check_training_rows
from lacforest._utils.rollback import unchanged_on_failure
from lacforest.baselines._files import State, StoredState, load_method, save_method


@dataclass(frozen=True)
class Problem:
    """Checked rows of a fit.

    Attributes
    ----------
    X : float64 array of shape (n_labeled, n_features)
    y : int array of shape (n_labeled,)
        Class codes 0, ..., n_known - 1.
    weight : float64 array of shape (n_labeled,)
        Positive; ones where `fit` was given no weights.
    X_unlabeled : float64 array of shape (n_unlabeled, n_features)
    n_known : int
    rows : TrainingRows
        The same rows in the form that estimators of theta take.
    """

    X: NDArray[np.float64]
    y: NDArray[np.intp]
    weight: NDArray[np.float64]
    X_unlabeled: NDArray[np.float64]
    n_known: int
    rows: TrainingRows

    @property
    def is_closed(self) -> bool:
        """Whether there are no unlabelled rows."""
        return len(self.X_unlabeled) == 0

    @classmethod
    def of(cls, rows: TrainingRows) -> Problem:
        """The problem that training rows pose."""
        table, n_labeled = rows.table.table(), rows.n_labeled
        weight = np.ones(n_labeled) if rows.weight is None else rows.weight[:n_labeled]
        codes = rows.classes[:n_labeled].astype(np.intp)
        return cls(table[:n_labeled], codes, weight, table[n_labeled:], rows.n_known, rows)


class Verdict(NamedTuple):
    """How a method judges rows: the likeliest known class, whether they are new, and how new."""

    known: NDArray[np.intp]
    is_new: NDArray[np.bool_]
    novelty: NDArray[np.float64]


class ComparedMethod(AugmentedClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the compared methods.

    A subclass learns from checked rows, and names the state that its files keep.
    """

    _PAPER_TABLE: ClassVar[dict[str, Any]] = {}
    # Why `sample_weight` has no meaning for the method; None where it has one.
    _WEIGHTLESS: ClassVar[str | None] = None

    unlabeled_label: Any
    new_label: Any

    @classmethod
    def paper_table(cls, **parameters: Any) -> Self:
        """An unfitted classifier with the settings that come closest to the paper's Table 1.

        The paper leaves the settings of compared methods to their references; these were found by
        measuring. Methods whose defaults come closest return their defaults.

        Parameters
        ----------
        **parameters
            Other parameters of the class; they take precedence over the settings.

        Returns
        -------
        classifier
        """
        return cls(**cls._PAPER_TABLE | parameters)

    @keyword_only_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        X_unlabeled: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn the known classes, and what is new.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Labelled rows, and unlabelled ones among them if `unlabeled_label` is set. Scale the
            columns first. Missing values and sparse tables are not supported.
        y : array-like of shape (n_rows,)
            Labels.
        X_unlabeled : like X, of shape (n_unlabeled, n_features), optional
            Unlabelled rows from deployment.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of labelled rows: a row of weight w counts as w rows. Methods that judge by
            nearest rows or count rows raise a TypeError instead.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self._check_parameters()
            if sample_weight is not None and self._WEIGHTLESS is not None:
                raise TypeError(f"{type(self).__name__} takes no sample_weight: {self._WEIGHTLESS}")
            rows, labels = check_training_rows(
                self,
                X,
                y,
                sample_weight,
                X_unlabeled,
                options=DENSE_TABLE,
                always_new=not self._uses_unlabeled,
            )
            self._store_labels(labels)
            self._learn(Problem.of(rows))
        return self

    @abstractmethod
    def _check_parameters(self) -> None:
        """Reject invalid parameters before any data is read."""

    @abstractmethod
    def _learn(self, problem: Problem) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _state(self) -> State:
        """What prediction needs beside parameters and labels."""

    @abstractmethod
    def _restore(self, stored: StoredState) -> None:
        """Set the attributes that `_learn` sets, from a file."""

    def _checked(self, X: ArrayLike) -> NDArray[np.float64]:
        """Rows to predict."""
        check_is_fitted(self)
        table: NDArray[np.float64] = check_new_table(self, X, DENSE_TABLE)
        return table

    def _need_two_classes(self, problem: Problem) -> None:
        if problem.n_known < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of two or more known classes, but y has 1 class"
            )
        empty = np.bincount(problem.y, minlength=problem.n_known) == 0
        if empty.any():
            raise ValueError(
                f"{type(self).__name__} needs rows of every known class, but sample_weight is zero "
                f"for all rows of class {self.known_classes_[empty].tolist()[0]!r}"
            )

    def save(self, path: str | os.PathLike[str], compress: bool = True) -> None:
        """Write the fitted classifier to a file without pickle, replacing an old one atomically.

        Parameters
        ----------
        path : str or path-like
        compress : bool, default=True
            Deflate the arrays.
        """
        check_is_fitted(self)
        save_method(self, path, bool(compress))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a classifier that `save` wrote, after checking all of it.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        classifier
            Fitted; `theta_estimator_` is None, because files do not keep it.
        """
        loaded: Self = load_method(cls, path)
        return loaded


class VerdictMethod(ComparedMethod):
    """Base of the compared methods without probabilities."""

    @abstractmethod
    def _judge(self, X: NDArray[np.float64]) -> Verdict:
        """Verdict on checked rows."""

    def _class_positions(self, X: ArrayLike) -> NDArray[np.intp]:
        known, is_new, _ = self._judge(self._checked(X))
        index = self.new_class_index_
        if index is None:
            return known
        return np.where(is_new, index, known + (known >= index))

    def _novelty(self, X: ArrayLike) -> NDArray[np.float64]:
        return self._judge(self._checked(X)).novelty


class ThetaMethod(ComparedMethod):
    """Base of the compared methods that use theta."""

    _theta_optional: ClassVar[bool] = False

    theta: Any
    n_jobs: int | None
    random_state: Any

    def _check_parameters(self) -> None:
        check_n_jobs(self.n_jobs)
        if not (self._theta_optional and self.theta is None):
            check_theta(self.theta)

    def _find_theta(self, problem: Problem, entropy: NDArray[np.uint32]) -> float:
        """Theta as given or estimated; 0 where there are no unlabelled rows."""
        if problem.is_closed:
            self._store_theta(None)
            return 0.0
        found = find_theta(check_theta(self.theta), problem.rows, None, entropy, self.n_jobs)
        warn_if_undetermined(found, len(problem.X_unlabeled))
        self._store_theta(found)
        return found.value


class ShareMethod(ThetaMethod):
    """Base of the compared methods whose risk weighs labelled rows by class shares."""

    known_shares: Any

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_known_shares(self.known_shares)

    def _find_deployment(
        self, problem: Problem, entropy: NDArray[np.uint32]
    ) -> tuple[float, Problem]:
        """Theta, and the problem with labelled rows weighted to the shares in deployment."""
        if problem.is_closed:
            self._store_deployment(None)
            return 0.0, problem
        found = find_deployment(
            check_theta(self.theta),
            self.known_shares,
            problem.rows,
            self.known_classes_,
            None,
            entropy,
            self.n_jobs,
        )
        warn_if_undetermined(found.theta, len(problem.X_unlabeled))
        self._store_deployment(found)
        return found.theta.value, Problem.of(found.rows)


def generator(entropy: NDArray[np.uint32], purpose: int) -> np.random.Generator:
    """Random numbers for one purpose; another purpose gets another stream."""
    return np.random.default_rng([*entropy.tolist(), purpose])

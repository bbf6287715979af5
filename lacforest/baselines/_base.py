"""What all compared methods share: the contract of LACForestClassifier."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from lacforest._parameters import check_n_jobs, is_real
from lacforest._theta import check_theta, find_theta, warn_if_undetermined
from lacforest._training_rows import TrainingRows
from lacforest._unchanged import unchanged_on_failure
from lacforest._validation import DENSE_TABLE, check_new_table, check_training_rows


@dataclass
class AugmentedTags(Tags):
    """Tags of scikit-learn, and what a method does with unlabelled rows.

    Attributes
    ----------
    uses_unlabeled : bool
        Whether `X_unlabeled` has any influence on the fit. A method without it can call rows new
        all the same.
    """

    uses_unlabeled: bool = True


@dataclass(frozen=True)
class Problem:
    """Checked rows of a fit.

    Attributes
    ----------
    X : float64 array of shape (n_labeled, n_features)
    y : int array of shape (n_labeled,)
        Class codes 0, ..., n_known - 1.
    X_unlabeled : float64 array of shape (n_unlabeled, n_features)
    n_known : int
    rows : TrainingRows
        The same rows as estimators of theta take them.
    """

    X: NDArray[np.float64]
    y: NDArray[np.intp]
    X_unlabeled: NDArray[np.float64]
    n_known: int
    rows: TrainingRows

    @property
    def is_closed(self) -> bool:
        """Whether there are no unlabelled rows."""
        return len(self.X_unlabeled) == 0


class Verdict(NamedTuple):
    """What a method says of rows: the likeliest known class, whether it is new, and how new."""

    known: NDArray[np.intp]
    is_new: NDArray[np.bool_]
    novelty: NDArray[np.float64]


class AugmentedClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the compared methods: `fit`, `predict` and `novelty_score`.

    A subclass says how to learn from checked rows and what to say of new ones.
    """

    _uses_unlabeled: ClassVar[bool] = True
    _PAPER_TABLE: ClassVar[dict[str, Any]] = {}

    unlabeled_label: Any
    new_label: Any
    classes_: NDArray[Any]
    known_classes_: NDArray[Any]
    new_label_: Any
    new_class_index_: int | None

    @classmethod
    def paper_table(cls, **parameters: Any) -> Self:
        """An unfitted classifier with the settings that come closest to the paper's Table 1.

        The paper leaves the settings of compared methods to their references; these were found by
        measuring. Methods whose defaults come closest give their defaults.

        Parameters
        ----------
        **parameters
            Other parameters of the class; they come before the settings.

        Returns
        -------
        classifier
        """
        return cls(**cls._PAPER_TABLE | parameters)

    def fit(self, X: ArrayLike, y: ArrayLike, *, X_unlabeled: ArrayLike | None = None) -> Self:
        """Learn known classes, and what is new.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Labelled rows, and unlabelled ones among them if `unlabeled_label` is set. Scale the
            columns first: no missing values, no sparse tables.
        y : array-like of shape (n_rows,)
            Labels.
        X_unlabeled : like X, of shape (n_unlabeled, n_features), optional
            Unlabelled rows from deployment.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self._check_parameters()
            rows, labels = check_training_rows(
                self,
                X,
                y,
                None,
                X_unlabeled,
                options=DENSE_TABLE,
                always_new=not self._uses_unlabeled,
            )
            table = rows.table.table()
            self.classes_ = labels.classes
            self.known_classes_ = labels.known
            self.new_label_ = labels.new_label
            self.new_class_index_ = labels.new_index
            self._learn(
                Problem(
                    table[: rows.n_labeled],
                    rows.classes[: rows.n_labeled].astype(np.intp),
                    table[rows.n_labeled :],
                    rows.n_known,
                    rows,
                )
            )
        return self

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense, before any data is looked at."""

    @abstractmethod
    def _learn(self, problem: Problem) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _judge(self, X: NDArray[np.float64]) -> Verdict:
        """Verdict on checked rows."""

    def _checked(self, X: ArrayLike) -> NDArray[np.float64]:
        """Rows of a prediction."""
        check_is_fitted(self)
        table: NDArray[np.float64] = check_new_table(self, X, DENSE_TABLE)
        return table

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Known label or `new_label_` of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        known, is_new, _ = self._judge(self._checked(X))
        index = self.new_class_index_
        if index is None:
            labels: NDArray[Any] = self.classes_[known]
        else:
            labels = self.classes_[np.where(is_new, index, known + (known >= index))]
        return labels

    def novelty_score(self, X: ArrayLike) -> NDArray[np.float64]:
        """How new each row looks: higher is newer.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        if self.new_class_index_ is None:
            raise ValueError(
                f"this {type(self).__name__} was fitted without unlabelled rows and knows no new "
                "class: pass X_unlabeled to fit, or mark rows by unlabeled_label"
            )
        return self._judge(self._checked(X)).novelty

    def _need_two_classes(self, problem: Problem) -> None:
        if problem.n_known < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of two or more known classes, but y has 1 class"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        values = {field.name: getattr(tags, field.name) for field in fields(Tags)}
        return AugmentedTags(**values, uses_unlabeled=self._uses_unlabeled)


class ThetaClassifier(AugmentedClassifier):
    """Base of the methods that use theta."""

    _theta_optional: ClassVar[bool] = False

    theta: Any
    n_jobs: int | None
    random_state: Any
    theta_: float | None
    theta_interval_: tuple[float, float] | None
    theta_estimator_: Any

    def _check_parameters(self) -> None:
        check_n_jobs(self.n_jobs)
        if not (self._theta_optional and self.theta is None):
            check_theta(self.theta)

    def _entropy(self) -> NDArray[np.uint32]:
        rng = check_random_state(self.random_state)
        entropy: NDArray[np.uint32] = rng.randint(0, 2**32, size=4, dtype=np.uint32)
        return entropy

    def _find_theta(self, problem: Problem, entropy: NDArray[np.uint32]) -> float:
        """Theta as given or estimated; no new rows where there are no unlabelled ones."""
        self.theta_, self.theta_interval_, self.theta_estimator_ = None, None, None
        if problem.is_closed:
            return 0.0
        found = find_theta(check_theta(self.theta), problem.rows, None, entropy, self.n_jobs)
        warn_if_undetermined(found, len(problem.X_unlabeled))
        self.theta_, self.theta_interval_ = found.value, found.interval
        self.theta_estimator_ = found.estimator
        return found.value


def generator(entropy: NDArray[np.uint32], purpose: int) -> np.random.Generator:
    """Random numbers for one purpose; another purpose gets others."""
    return np.random.default_rng([*entropy.tolist(), purpose])


def check_positive(name: str, value: Any, *, zero_allowed: bool = False) -> None:
    """Refuse what is no positive number."""
    least = "not be negative" if zero_allowed else "be positive"
    if not is_real(value):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not np.isfinite(value) or value < 0 or (value == 0 and not zero_allowed):
        raise ValueError(f"{name} must be finite and {least}, got {value!r}")


def check_fraction(name: str, value: Any) -> None:
    """Refuse what is no number in [0, 1]."""
    if not is_real(value):
        raise TypeError(f"{name} must be a number in [0, 1], got {value!r}")
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}")

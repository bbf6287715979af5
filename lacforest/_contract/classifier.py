"""The contract of every classifier in the package.

Forests, the neural forest and the compared methods share what is here: how `fit` is called, the
fitted labels and theta, `predict`, `predict_proba`, `novelty_score` and tags.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from lacforest._contract.deployment import Deployment, Theta
from lacforest._utils.classes import WithClasses
from lacforest._utils.findings import Finding
from lacforest.mixture.curve_points import curve_points

_Fit = TypeVar("_Fit", bound=Callable[..., Any])


def keyword_only_fit(fit: _Fit) -> _Fit:
    """Decorate `fit`: a third positional argument raises an error that names `X_unlabeled`.

    The signature of `fit` stays visible, so that scikit-learn finds the metadata it can route.
    """

    @functools.wraps(fit)
    def fit_of_keywords(self: Any, *arguments: Any, **named: Any) -> Any:
        if len(arguments) > 2:
            raise TypeError(
                f"{type(self).__name__}.fit takes X and y by position, but {len(arguments)} "
                "arguments were given by position: pass unlabelled rows as X_unlabeled=... and "
                "weights as sample_weight=..."
            )
        return fit(self, *arguments, **named)

    return cast(_Fit, fit_of_keywords)


@dataclass
class _AugmentedTags(Tags):
    """Tags of scikit-learn, and whether unlabelled rows have any influence on the fit.

    A method that ignores unlabelled rows may still predict the new class.
    """

    uses_unlabeled: bool = True


class AugmentedClassifierMixin(WithClasses, ClassifierMixin):
    """What all classifiers that may predict a new class have in common.

    A subclass implements `_class_positions` and `_novelty`. Its `fit` calls `_store_labels` and,
    where the method uses theta, `_store_theta`.
    """

    _uses_unlabeled: ClassVar[bool] = True

    theta_: float | None
    theta_interval_: tuple[float, float] | None
    theta_estimator_: Any
    theta_curve_: NDArray[np.float64] | None
    known_shares_: NDArray[np.float64] | None
    known_shares_interval_: NDArray[np.float64] | None
    share_shift_: float | None
    fit_findings_: tuple[Finding, ...]
    column_shift_: NDArray[np.float64] | None

    # ------------------------------------------------------------------ fitted attributes

    def _store_theta(self, theta: Theta | None) -> None:
        """Set theta; None where there is no new class, or where the method goes without theta."""
        self.theta_ = None if theta is None else theta.value
        self.theta_interval_ = None if theta is None else theta.interval
        self.theta_estimator_ = None if theta is None else theta.estimator
        self.theta_curve_ = None
        if self.theta_estimator_ is not None:
            self.theta_curve_ = curve_points(self.theta_estimator_)

    def _store_deployment(self, deployment: Deployment | None) -> None:
        """Set theta and the shares of known classes; None where there is no new class."""
        self._store_theta(None if deployment is None else deployment.theta)
        self.known_shares_ = None if deployment is None else deployment.known_shares
        self.known_shares_interval_ = (
            None if deployment is None else deployment.known_shares_interval
        )
        self.share_shift_ = None if deployment is None else deployment.share_shift
        self.fit_findings_ = () if deployment is None else deployment.findings
        self.column_shift_ = None if deployment is None else deployment.column_shift

    # ------------------------------------------------------------------ prediction

    @abstractmethod
    def _class_positions(self, X: Any) -> NDArray[np.intp]:
        """Index of the predicted class of each row in `classes_`."""

    @abstractmethod
    def _novelty(self, X: Any) -> NDArray[np.float64]:
        """Score of each row for being new; called only where there is a new class."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Known label or `new_label_` of each row.

        Methods with probabilities predict the class with the highest one.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows in any form that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        positions = self._class_positions(X)  # first, because it checks that there are classes_
        labels: NDArray[Any] = self.classes_[positions]
        return labels

    def novelty_score(self, X: Any) -> NDArray[np.float64]:
        """Score of each row for being new: higher is newer.

        Methods with probabilities return the probability of the new class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows in any form that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        self._check_has_new_class()
        return self._novelty(X)

    def _check_has_new_class(self) -> None:
        check_is_fitted(self)
        if self.new_class_index_ is None:
            raise ValueError(
                f"this {type(self).__name__} was fitted without unlabelled rows and has no new "
                "class: pass X_unlabeled to fit, or mark rows by unlabeled_label"
            )

    def _class_shares(self) -> NDArray[np.float64]:
        """Shares of all classes in the unlabelled rows of the fit, the new one last."""
        self._check_has_new_class()
        if self.known_shares_ is None or self.theta_ is None:
            raise ValueError(
                f"this {type(self).__name__} comes from a file of an older version, which has no "
                "shares of known classes: fit it again"
            )
        return np.append((1.0 - self.theta_) * self.known_shares_, self.theta_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        values = {field.name: getattr(tags, field.name) for field in fields(Tags)}
        return _AugmentedTags(**values, uses_unlabeled=self._uses_unlabeled)


class ProbabilisticClassifierMixin(AugmentedClassifierMixin):
    """An augmented classifier with class probabilities; a subclass has `_class_probabilities`."""

    @abstractmethod
    def _class_probabilities(self, X: Any) -> NDArray[np.float64]:
        """Probabilities by class code: known classes, then the new one if there is one."""

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of `classes_`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows in any form that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._in_class_order(self._class_probabilities(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows in any form that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        with np.errstate(divide="ignore"):
            logarithms: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logarithms

    def _class_positions(self, X: Any) -> NDArray[np.intp]:
        positions: NDArray[np.intp] = self.predict_proba(X).argmax(axis=1)
        return positions

    def _novelty(self, X: Any) -> NDArray[np.float64]:
        return self._class_probabilities(X)[:, -1]

"""Synthetic data with known hidden labels, theta and posterior."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.utils import check_array, check_random_state

from lacforest._input.parameters import check_int, is_real

_NEW = -1
# Two known classes side by side, and a new one above them. In labelled rows alone the second
# feature looks useless, but it is the one that separates new rows from known ones.
_FIGURE_KNOWN = np.array([[-1.5, -1.0], [1.5, -1.0]])
_FIGURE_NEW = np.array([[0.0, 1.5]])
_FIGURE_STD = 0.7


@dataclass(frozen=True, eq=False)
class ToyData:
    """Labelled and unlabelled rows from Gaussian blobs of equal spread.

    Attributes
    ----------
    X_labeled : ndarray of shape (n_labeled, n_features)
    y_labeled : ndarray of shape (n_labeled,)
        Known classes 0, 1, ...
    X_unlabeled : ndarray of shape (n_unlabeled, n_features)
    y_unlabeled : ndarray of shape (n_unlabeled,)
        True labels of the unlabelled rows, for evaluation only; -1 is the new class.
    theta : float
        Share of the new class, as given.
    known_centers : ndarray of shape (n_known, n_features)
        Centres of the known classes, one blob per class.
    new_centers : ndarray of shape (n_new, n_features)
        Centres of the blobs of the new class.
    std : float
        Standard deviation of each feature in a blob.
    """

    X_labeled: NDArray[np.float64] = field(repr=False)
    y_labeled: NDArray[np.intp] = field(repr=False)
    X_unlabeled: NDArray[np.float64] = field(repr=False)
    y_unlabeled: NDArray[np.intp] = field(repr=False)
    theta: float
    known_centers: NDArray[np.float64]
    new_centers: NDArray[np.float64]
    std: float

    @property
    def classes(self) -> NDArray[np.intp]:
        """The new class, -1, and the known classes, in the order of ``classes_`` of a forest."""
        return np.arange(_NEW, len(self.known_centers))

    def posterior(self, X: ArrayLike) -> NDArray[np.float64]:
        """True probabilities of `classes` among unlabelled rows (Eqn 1).

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_known + 1)
            Columns as in `classes`.
        """
        table = check_array(X, dtype=np.float64, input_name="X")
        centers = np.concatenate([self.new_centers, self.known_centers])
        if table.shape[1] != centers.shape[1]:
            raise ValueError(f"X has {table.shape[1]} features, but the toy has {centers.shape[1]}")
        n_new, n_known = len(self.new_centers), len(self.known_centers)
        prior = np.repeat([self.theta / n_new, (1 - self.theta) / n_known], [n_new, n_known])
        # One centre at a time, to save memory for many rows with many features.
        squares = np.stack([((table - center) ** 2).sum(axis=1) for center in centers], axis=1)
        blobs = softmax(np.log(prior) - squares / (2 * self.std**2), axis=1)
        return np.column_stack([blobs[:, :n_new].sum(axis=1), blobs[:, n_new:]])


def make_figure1(
    n_labeled: int = 200,
    n_unlabeled: int = 400,
    theta: float = 0.5,
    random_state: int | np.random.RandomState | None = None,
) -> ToyData:
    """Two features in which plain Gini impurity overlooks the new class: the paper's Figure 1.

    The first feature separates two known classes, the second both from the new class. Plain Gini
    impurity depends on labelled rows only and gains nothing from a cut of the second feature;
    augmented Gini impurity does. The paper shows the idea without numbers; these are our own.

    Parameters
    ----------
    n_labeled, n_unlabeled : int, default=200 and 400
        Numbers of rows.
    theta : float, default=0.5
        Share of the new class among unlabelled rows, in (0, 1).
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    ToyData

    Examples
    --------
    >>> from lacforest import LACForestClassifier
    >>> from lacforest.datasets import make_figure1
    >>> toy = make_figure1(random_state=0)
    >>> forest = LACForestClassifier(theta=toy.theta, random_state=0)
    >>> forest = forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    >>> forest.predict([[-1.5, -1], [1.5, -1], [0, 1.5]])
    array([ 0,  1, -1])
    >>> toy.posterior([[0.3, 0.2]]).round(2)  # the new class, then 0 and 1
    array([[0.84, 0.02, 0.14]])
    """
    return _draw(
        n_labeled, n_unlabeled, theta, _FIGURE_KNOWN, _FIGURE_NEW, _FIGURE_STD, random_state
    )


def make_blobs_with_posterior(
    n_labeled: int = 500,
    n_unlabeled: int = 1000,
    theta: float = 0.5,
    *,
    n_known: int = 3,
    n_new: int = 1,
    n_features: int = 2,
    std: float = 1.0,
    center_box: tuple[float, float] = (-5.0, 5.0),
    random_state: int | np.random.RandomState | None = None,
) -> ToyData:
    """Gaussian blobs with random centres and known posterior.

    Each known class is one blob, and all are equally frequent. The new class is one blob, or
    several equally frequent ones, like the hidden classes of a real table.

    Parameters
    ----------
    n_labeled, n_unlabeled : int, default=500 and 1000
        Numbers of rows.
    theta : float, default=0.5
        Share of the new class among unlabelled rows, in (0, 1). Exactly
        ``round(theta * n_unlabeled)`` of them are new.
    n_known : int, default=3
        Known classes.
    n_new : int, default=1
        Blobs of the new class.
    n_features : int, default=2
    std : float, default=1.0
        Standard deviation of each feature in a blob.
    center_box : tuple of float, default=(-5.0, 5.0)
        Each coordinate of a centre is drawn uniformly between these two.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    ToyData

    Examples
    --------
    The true posterior limits the accuracy of any classifier:

    >>> import numpy as np
    >>> from lacforest.datasets import make_blobs_with_posterior
    >>> toy = make_blobs_with_posterior(theta=0.3, random_state=0)
    >>> toy.classes
    array([-1,  0,  1,  2])
    >>> best = toy.classes[toy.posterior(toy.X_unlabeled).argmax(axis=1)]
    >>> float(np.mean(best == toy.y_unlabeled))
    0.705
    """
    check_int("n_known", n_known, 1)
    check_int("n_new", n_new, 1)
    check_int("n_features", n_features, 1)
    if not is_real(std) or not 0.0 < std < np.inf:
        raise ValueError(f"std must be a positive number, got {std!r}")
    low, high = _check_box(center_box)
    rng = check_random_state(random_state)
    centers = rng.uniform(low, high, size=(n_known + n_new, n_features))
    return _draw(
        n_labeled, n_unlabeled, theta, centers[:n_known], centers[n_known:], float(std), rng
    )


def _check_box(center_box: Any) -> tuple[float, float]:
    try:
        low, high = map(float, center_box)
    except (TypeError, ValueError):
        low = high = np.nan
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"center_box must be two numbers in ascending order, got {center_box!r}")
    return low, high


def _draw(
    n_labeled: Any,
    n_unlabeled: Any,
    theta: Any,
    known_centers: NDArray[np.float64],
    new_centers: NDArray[np.float64],
    std: float,
    random_state: Any,
) -> ToyData:
    check_int("n_labeled", n_labeled, 1)
    check_int("n_unlabeled", n_unlabeled, 1)
    if not is_real(theta) or not 0.0 < theta < 1.0:
        raise ValueError(f"theta must lie strictly between 0 and 1, got {theta!r}")
    rng = check_random_state(random_state)

    def blobs(centers: NDArray[np.float64], numbers: NDArray[np.intp]) -> NDArray[np.float64]:
        noise: NDArray[np.float64] = rng.normal(scale=std, size=(len(numbers), centers.shape[1]))
        return centers[numbers] + noise

    y_labeled = rng.randint(len(known_centers), size=n_labeled)
    X_labeled = blobs(known_centers, y_labeled)
    n_new = round(theta * n_unlabeled)
    known = rng.randint(len(known_centers), size=n_unlabeled - n_new)
    new = rng.randint(len(new_centers), size=n_new)
    rows = np.concatenate([blobs(known_centers, known), blobs(new_centers, new)])
    truth = np.concatenate([known, np.full(n_new, _NEW)])
    # Shuffled, so that no method can benefit from the order of rows.
    order = rng.permutation(n_unlabeled)
    return ToyData(
        X_labeled=X_labeled,
        y_labeled=y_labeled,
        X_unlabeled=rows[order],
        y_unlabeled=truth[order],
        theta=float(theta),
        known_centers=known_centers.copy(),
        new_centers=new_centers.copy(),
        std=std,
    )

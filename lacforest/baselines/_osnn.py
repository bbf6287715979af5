"""OSNN: a row is new if it is nearly as far from its nearest class as from the next one."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state, gen_batches

from lacforest._input.parameters import check_int
from lacforest._utils.user_warnings import warn_user
from lacforest.baselines._base import Problem, Verdict, VerdictMethod
from lacforest.baselines._files import State, StoredState
from lacforest.baselines._open_simulation import (
    LEAST_CLASSES,
    THRESHOLDS,
    best_threshold,
    check_threshold,
    simulate,
)

# Share of known rows that the threshold accepts where there are too few classes for tuning.
_ACCEPTED = 0.95
# Distances that are kept in memory at a time.
_BLOCK = 1 << 22


def class_distances(
    X: NDArray[np.float64],
    rows: NDArray[np.float64],
    y: NDArray[np.intp],
    n_classes: int,
    *,
    leave_self_out: bool = False,
) -> NDArray[np.float64]:
    """Distance of each row of X to the nearest of `rows` in each class.

    Parameters
    ----------
    X : float64 array of shape (n_rows, n_features)
    rows : float64 array of shape (n_labeled, n_features)
    y : int array of shape (n_labeled,)
    n_classes : int
    leave_self_out : bool, default=False
        X is `rows`, and no row counts as its own neighbour.

    Returns
    -------
    float64 array of shape (n_rows, n_classes)
        Infinite where a class has no row.
    """
    nearest = np.full((len(X), n_classes), np.inf)
    for batch in gen_batches(len(X), max(1, _BLOCK // len(rows))):
        distances = cdist(X[batch], rows)
        if leave_self_out:
            inside = np.arange(batch.stop - batch.start)
            distances[inside, inside + batch.start] = np.inf
        for code in range(n_classes):
            of_class = distances[:, y == code]
            if of_class.shape[1]:
                nearest[batch, code] = of_class.min(axis=1)
    return nearest


def distance_ratio(nearest: NDArray[np.float64]) -> NDArray[np.float64]:
    """R = distance to the nearest class over distance to the next one; 1 where both are 0."""
    first, second = np.partition(nearest, 1, axis=1)[:, :2].T
    ratio: NDArray[np.float64] = np.ones(len(nearest))
    np.divide(first, second, out=ratio, where=(second > 0) & (first < second))
    return ratio


class OSNNClassifier(VerdictMethod):
    """Open-set nearest neighbour [1]_: rows between classes, or far from all, are new.

    R is the distance of a row to its nearest labelled row, divided by that to the nearest row of
    any other class. The row is new if R exceeds a threshold, else it gets the label of its
    neighbour. Far from all rows R tends to 1. Unlabelled rows are accepted and ignored.

    Parameters
    ----------
    threshold : "tuned" or float in [0, 1], default="tuned"
        The largest R of known rows. "tuned" is the method as published: half of the known classes
        pretend to be unknown, and the threshold gets the best normalised accuracy. ``paper_table``
        sets 0.95, which comes close to the paper's table and does far worse than tuning.
    n_simulations : int, default=10
        Random choices of the classes that pretend, over which tuning averages.
    unlabeled_label : object, default=None
        A label that marks unlabelled rows inside X; they are left out.
    new_label : "auto" or label, default="auto"
        What to predict for new rows, as in `LACForestClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the simulations.

    Attributes
    ----------
    threshold_ : float
    classes_, known_classes_, new_label_, new_class_index_
        As in `LACForestClassifier`. There is always a new class.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Tuning needs three known classes. With two, the threshold accepts 95 % of the labelled rows,
    each judged by the others, and `fit` warns. ``threshold=1`` is the nearest neighbour rule. A
    ratio of distances is no probability, so there is no ``predict_proba``.

    References
    ----------
    .. [1] P. R. Mendes Junior et al., "Nearest neighbors distance ratio open-set classifier",
       Machine Learning 106, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.baselines import OSNNClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0, 0], [6, 0], [0, 6]], 50, axis=0) + rng.normal(size=(150, 2))
    >>> y = np.repeat(["a", "b", "c"], 50)
    >>> osnn = OSNNClassifier(random_state=0).fit(X, y)
    >>> osnn.predict([[0, 0], [6, 0], [50, 50]])
    array(['a', 'b', '<new>'], dtype='<U5')
    """

    _uses_unlabeled: ClassVar[bool] = False
    _PAPER_TABLE: ClassVar[dict[str, Any]] = {"threshold": 0.95}
    _WEIGHTLESS: ClassVar[str | None] = (
        "it judges by the nearest labelled row, and a weight makes no row nearer"
    )

    def __init__(
        self,
        threshold: Any = "tuned",
        *,
        n_simulations: int = 10,
        unlabeled_label: Any = None,
        new_label: Any = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.threshold = threshold
        self.n_simulations = n_simulations
        self.unlabeled_label = unlabeled_label
        self.new_label = new_label
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_threshold(self.threshold)
        check_int("n_simulations", self.n_simulations, 1)

    def _learn(self, problem: Problem) -> None:
        self._need_two_classes(problem)
        self._rows, self._codes = problem.X, problem.y
        if not isinstance(self.threshold, str):
            self.threshold_ = float(self.threshold)
        elif problem.n_known < LEAST_CLASSES:
            warn_user(
                "tuning the threshold needs three known classes, and y has two: it is set to "
                f"accept {_ACCEPTED:.0%} of the labelled rows. Pass a number to choose it "
                "yourself.",
                UserWarning,
            )
            nearest = class_distances(problem.X, problem.X, problem.y, 2, leave_self_out=True)
            self.threshold_ = float(np.quantile(distance_ratio(nearest), _ACCEPTED))
        else:
            self.threshold_ = self._tune(problem)

    def _tune(self, problem: Problem) -> float:
        seed = check_random_state(self.random_state).randint(2**31)
        judged = []
        for part in simulate(problem.y, self.n_simulations, np.random.default_rng(seed)):
            rows, codes = problem.X[part.fitting], problem.y[part.fitting]
            of_known, of_unknown = (
                class_distances(problem.X[tested], rows, codes, problem.n_known)
                for tested in (part.known, part.unknown)
            )
            right = of_known.argmin(axis=1) == problem.y[part.known]
            judged.append((distance_ratio(of_known), right, distance_ratio(of_unknown)))
        return best_threshold(judged, THRESHOLDS, np.less_equal)[0]

    def _judge(self, X: NDArray[np.float64]) -> Verdict:
        nearest = class_distances(X, self._rows, self._codes, len(self.known_classes_))
        ratio = distance_ratio(nearest)
        return Verdict(nearest.argmin(axis=1), ratio > self.threshold_, ratio)

    def _state(self) -> State:
        return {
            "threshold": self.threshold_,
            "rows": self._rows,
            "codes": self._codes.astype(np.int64),
        }

    def _restore(self, stored: StoredState) -> None:
        self.threshold_ = stored.number("threshold", 0.0, 1.0)
        self._rows = stored.array("rows", ("n_rows", "n_features"))
        self._codes = stored.codes("codes", "n_rows")

"""PAC-iForest: a threshold on anomaly scores that finds all but a share q of new rows."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest

from lacforest._parameters import check_int, is_int, is_real
from lacforest.baselines._base import (
    Problem,
    ThetaClassifier,
    Verdict,
    check_fraction,
    generator,
)
from lacforest.baselines._ovr_svm import OneVersusRest, check_machine


def average_path_length(n_rows: NDArray[Any]) -> NDArray[np.float64]:
    """Mean depth c(n) of a row in a random binary tree of n rows; 0 up to one row."""
    n = np.maximum(np.asarray(n_rows, dtype=np.float64), 2.0)
    with np.errstate(divide="ignore"):
        length = 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n
    return np.where(n_rows <= 1, 0.0, np.where(n_rows == 2, 1.0, length))


class OutOfBagIsolation:
    """An isolation forest that scores its own rows by the trees that did not see them.

    Parameters
    ----------
    n_estimators : int
    max_samples : int
        Rows that each tree sees, drawn without replacement.
    seed : int
    n_jobs : int or None
    """

    def __init__(self, n_estimators: int, max_samples: int, seed: int, n_jobs: int | None) -> None:
        self.max_samples = max_samples
        self.forest = IsolationForest(
            n_estimators=n_estimators, max_samples=max_samples, random_state=seed, n_jobs=n_jobs
        )

    def fit(self, X: NDArray[np.float64]) -> OutOfBagIsolation:
        """Grow the trees."""
        self.forest.fit(X)
        self._lengths = [_leaf_path_lengths(tree.tree_) for tree in self.forest.estimators_]
        self._rows = self.forest.estimators_samples_
        return self

    def _score(self, total: NDArray[np.float64], n_trees: Any) -> NDArray[np.float64]:
        """Anomaly score 2^(-mean length / c(max_samples)); 1 where a tree is nothing but a root."""
        usual = float(average_path_length(np.array(self.max_samples)))
        if usual == 0:
            return np.ones(len(total))
        score: NDArray[np.float64] = 2.0 ** (-total / (n_trees * usual))
        return score

    def _path_lengths(self, X: NDArray[np.float32], tree: int) -> NDArray[np.float64]:
        leaves = self.forest.estimators_[tree].apply(X, check_input=False)
        lengths: NDArray[np.float64] = self._lengths[tree][leaves]
        return lengths

    def score(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Anomaly scores of rows that the forest did not see, in (0, 1]: higher is stranger."""
        table = X.astype(np.float32)
        total = np.zeros(len(X))
        for tree in range(len(self._lengths)):
            total += self._path_lengths(table, tree)
        return self._score(total, len(self._lengths))

    def out_of_bag_score(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of the rows of `fit`; NaN for a row that every tree saw."""
        table = X.astype(np.float32)
        total, n_trees = np.zeros(len(X)), np.zeros(len(X))
        for tree, seen in enumerate(self._rows):
            is_out = np.ones(len(X), dtype=bool)
            is_out[seen] = False
            total[is_out] += self._path_lengths(table, tree)[is_out]
            n_trees += is_out
        with np.errstate(invalid="ignore"):
            return np.where(n_trees > 0, self._score(total, n_trees), np.nan)


def _leaf_path_lengths(tree: Any) -> NDArray[np.float64]:
    """Depth of each node, and what its rows would still need to be told apart."""
    depth = np.zeros(tree.node_count)
    level = np.array([0])
    while len(level):
        inner = level[tree.children_left[level] >= 0]
        depth[tree.children_left[inner]] = depth[tree.children_right[inner]] = depth[inner] + 1
        level = np.concatenate([tree.children_left[inner], tree.children_right[inner]])
    return depth + average_path_length(tree.n_node_samples)


def pac_threshold(
    nominal: NDArray[np.float64], mixed: NDArray[np.float64], theta: float, q: float
) -> float:
    """Largest score up to which at most a share q of new rows is estimated to lie.

    With F_u and F_0 the empirical distributions of the scores of unlabelled and of known rows, that
    of new rows is F_a = (F_u - (1 - theta) F_0) / theta. It need not rise: the last score with
    F_a <= q counts, or the first of all scores if there is none.

    Parameters
    ----------
    nominal : float64 array
        Scores of known rows.
    mixed : float64 array
        Scores of unlabelled rows.
    theta : float
        0 means that nothing is new, and gives infinity.
    q : float
    """
    if theta <= 0:
        return math.inf
    values = np.unique(np.concatenate([nominal, mixed]))
    of_nominal, of_mixed = (
        np.searchsorted(np.sort(scores), values, side="right") / len(scores)
        for scores in (nominal, mixed)
    )
    # A hair's breadth: shares are sums of 1/n.
    within = np.flatnonzero(of_mixed - (1.0 - theta) * of_nominal <= theta * q + 1e-12)
    return float(values[within[-1] if len(within) else 0])


class PACIsolationForestClassifier(ThetaClassifier):
    """Isolation forests with a threshold that misses at most a share q of new rows [1]_.

    Known rows are scored out of bag by isolation forests, unlabelled rows by all trees. Theta gives
    the distribution of scores of new rows, and the threshold is the last score that at most a share
    q of them stays below. Rows above are new; the others get a label from one-versus-rest SVMs,
    because the article has no classifier of known classes.

    Without unlabelled rows these SVMs are all there is, and no row is new.

    Parameters
    ----------
    theta : "auto", float in (0, 1) or estimator, default="auto"
        Share of unlabelled rows that are new, as in `LACForestClassifier`. The article supposes
        that it is known, or known to be at most this; one too low voids the guarantee.
    q : float in [0, 1], default=0.05
        Share of new rows that may be missed; the authors try 0.02, 0.05 and 0.1.
    forests : {"per_class", "one"}, default="per_class"
        One forest for each known class, where a row has its lowest score of all, as published; or
        one forest for all known rows. ``paper_table`` sets "one", 100 trees and ``q=0.2``, which
        come closest to the paper's table.
    n_estimators : int, default=1000
        Trees of a forest.
    max_samples : int or float, default=0.2
        Rows that a tree sees, of those of its forest: a number, or a share.
    C : float, default=1.0
    gamma : {"scale", "auto"} or float, default="scale"
        The SVMs, as in `OVRSVMClassifier`.
    unlabeled_label : object, default=None
        A label that marks unlabelled rows inside X.
    new_label : "auto" or label, default="auto"
        What to predict for new rows, as in `LACForestClassifier`.
    n_jobs : int or None, default=None
        Threads. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of the forests, and of the estimate of theta.

    Attributes
    ----------
    threshold_ : float
        Score from which a row is new.
    theta_, theta_interval_, theta_estimator_
        As in `LACForestClassifier`.
    classes_, known_classes_, new_label_, new_class_index_
        As in `LACForestClassifier`.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    The guarantee needs more rows than one might think: with theta = 0.5, recall of at least
    1 - q - 0.1 with probability 0.95 takes 1,967 known and as many unlabelled rows, and
    1 - q - 0.05 takes 7,865. See `rows_for_guarantee`.

    References
    ----------
    .. [1] S. Liu, R. Garrepalli, T. Dietterich, A. Fern and D. Hendrycks, "Open Category Detection
       with PAC Guarantees", ICML 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.baselines import PACIsolationForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0, 0], [6, 0]], 100, axis=0) + rng.normal(size=(200, 2))
    >>> y = np.repeat(["a", "b"], 100)
    >>> deployed = np.vstack([X, [3, 9] + rng.normal(size=(200, 2))])
    >>> model = PACIsolationForestClassifier(theta=0.5, n_estimators=100, random_state=0)
    >>> model.fit(X, y, X_unlabeled=deployed).predict([[0, 0], [6, 0], [3, 9]])
    array(['a', 'b', '<new>'], dtype='<U5')
    """

    _PAPER_TABLE: ClassVar[dict[str, Any]] = {
        "q": 0.2,
        "forests": "one",
        "n_estimators": 100,
    }

    def __init__(
        self,
        *,
        theta: Any = "auto",
        q: float = 0.05,
        forests: Literal["per_class", "one"] = "per_class",
        n_estimators: int = 1000,
        max_samples: int | float = 0.2,
        C: float = 1.0,
        gamma: Any = "scale",
        unlabeled_label: Any = None,
        new_label: Any = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.theta = theta
        self.q = q
        self.forests = forests
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.C = C
        self.gamma = gamma
        self.unlabeled_label = unlabeled_label
        self.new_label = new_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_fraction("q", self.q)
        if self.forests not in ("per_class", "one"):
            raise ValueError(f'forests must be "per_class" or "one", got {self.forests!r}')
        check_int("n_estimators", self.n_estimators, 1)
        if not is_int(self.max_samples) and not is_real(self.max_samples):
            raise TypeError(
                f"max_samples must be an integer or a share in (0, 1), got {self.max_samples!r}"
            )
        if self.max_samples <= 0 or (not is_int(self.max_samples) and self.max_samples >= 1):
            raise ValueError(
                f"max_samples must be a positive integer or a share in (0, 1), got "
                f"{self.max_samples!r}: known rows are scored by trees that did not see them"
            )
        check_machine(self.C, self.gamma)

    def _n_samples(self, n_rows: int) -> int:
        """Rows of a tree: two at least, and one less than all of them, if there are as many."""
        wanted = (
            self.max_samples if is_int(self.max_samples) else math.ceil(self.max_samples * n_rows)
        )
        return max(1, min(max(2, int(wanted)), n_rows - 1))

    def _learn(self, problem: Problem) -> None:
        entropy = self._entropy()
        theta = self._find_theta(problem, entropy)
        self._machines = OneVersusRest(self.C, self.gamma).fit(
            problem.X, problem.y, problem.n_known
        )
        self._forests: list[OutOfBagIsolation] = []
        self.threshold_ = math.inf
        if problem.is_closed:
            return
        group = problem.y if self.forests == "per_class" else np.zeros_like(problem.y)
        rng = generator(entropy, 1)
        for code in range(int(group.max()) + 1):
            own = problem.X[group == code]
            forest = OutOfBagIsolation(
                int(self.n_estimators),
                self._n_samples(len(own)),
                int(rng.integers(2**31)),
                self.n_jobs,
            )
            self._forests.append(forest.fit(own))
        nominal = self._nominal_scores(problem.X, group)
        mixed = self._scores(problem.X_unlabeled)
        self.threshold_ = pac_threshold(nominal, mixed, theta, self.q)

    def _nominal_scores(
        self, X: NDArray[np.float64], group: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Scores of known rows, each by the trees that did not see it."""
        scores = np.empty((len(X), len(self._forests)))
        for code, forest in enumerate(self._forests):
            own = group == code
            scores[own, code] = forest.out_of_bag_score(X[own])
            if not own.all():
                scores[~own, code] = forest.score(X[~own])
        lowest: NDArray[np.float64] = scores.min(axis=1)
        lowest = lowest[~np.isnan(lowest)]
        if len(lowest) == 0:
            raise ValueError(
                "every labelled row was seen by every tree, so that none can be scored: raise "
                "n_estimators, lower max_samples or pass more labelled rows"
            )
        return lowest

    def _scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        lowest: NDArray[np.float64] = np.min([forest.score(X) for forest in self._forests], axis=0)
        return lowest

    def _judge(self, X: NDArray[np.float64]) -> Verdict:
        known = self._machines.decision_values(X).argmax(axis=1)
        score = self._scores(X) if self._forests else np.zeros(len(X))
        return Verdict(known, score >= self.threshold_, score)

    @staticmethod
    def rows_for_guarantee(theta: float, epsilon: float = 0.1, delta: float = 0.05) -> int:
        """Rows of either kind from which recall of new rows is at least 1 - q - epsilon.

        Parameters
        ----------
        theta : float in (0, 1]
            Share of unlabelled rows that are new.
        epsilon : float, default=0.1
            What recall may lack beside q.
        delta : float, default=0.05
            Probability that it lacks more.

        Returns
        -------
        int

        Examples
        --------
        >>> from lacforest.baselines import PACIsolationForestClassifier
        >>> PACIsolationForestClassifier.rows_for_guarantee(0.5)
        1967
        """
        for name, value in (("theta", theta), ("epsilon", epsilon), ("delta", delta)):
            check_fraction(name, value)
        if theta == 0 or epsilon == 0 or delta in (0, 1):
            raise ValueError(
                "theta, epsilon and delta must be positive, and delta below 1: got "
                f"{theta!r}, {epsilon!r} and {delta!r}"
            )
        factor = math.log(2.0 / (1.0 - math.sqrt(1.0 - delta))) / 2.0
        return math.floor(factor * ((2.0 - theta) / (theta * epsilon)) ** 2) + 1

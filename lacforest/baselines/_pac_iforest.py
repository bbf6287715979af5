"""PAC-iForest: a threshold on anomaly scores that finds all but a share q of new rows."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest

from lacforest._growing.plan import draw_entropy
from lacforest._input.parameters import check_int, is_int, is_real
from lacforest.baselines._base import Problem, ThetaMethod, Verdict, VerdictMethod, generator
from lacforest.baselines._files import State, StoredState
from lacforest.baselines._isolation import IsolationTrees
from lacforest.baselines._one_versus_rest import OneVersusRest, check_machine
from lacforest.baselines._parameters import check_fraction


def pac_threshold(
    nominal: NDArray[np.float64], mixed: NDArray[np.float64], theta: float, q: float
) -> float:
    """Largest score up to which at most a share q of new rows is estimated to lie.

    With F_u and F_0 the empirical distributions of the scores of unlabelled and of known rows, that
    of new rows is F_a = (F_u - (1 - theta) F_0) / theta. It need not be monotone: the last score
    with F_a <= q counts, or the first of all scores if there is none.

    Parameters
    ----------
    nominal : float64 array
        Scores of known rows.
    mixed : float64 array
        Scores of unlabelled rows.
    theta : float
        With 0 no row is new, and the threshold is infinite.
    q : float
    """
    if theta <= 0:
        return math.inf
    values = np.unique(np.concatenate([nominal, mixed]))
    of_nominal, of_mixed = (
        np.searchsorted(np.sort(scores), values, side="right") / len(scores)
        for scores in (nominal, mixed)
    )
    # The margin absorbs rounding: shares are sums of 1/n.
    within = np.flatnonzero(of_mixed - (1.0 - theta) * of_nominal <= theta * q + 1e-12)
    return float(values[within[-1] if len(within) else 0])


class PACIsolationForestClassifier(VerdictMethod, ThetaMethod):
    """Isolation forests with a threshold that misses at most a share q of new rows [1]_.

    Isolation forests score known rows out of bag, and unlabelled rows by all trees. With theta, the
    two samples of scores give the distribution of scores of new rows, and the threshold is the last
    score that at most a share q of them stays below. Rows above it are new; the others get a label
    from one-versus-rest SVMs, because the article has no classifier of known classes.

    Without unlabelled rows the SVMs alone predict, and no row is new.

    Parameters
    ----------
    theta : "auto", float in (0, 1) or estimator, default="auto"
        Share of unlabelled rows that are new, as in `LACForestClassifier`. The article assumes that
        it is known, or that an upper bound is; a value that is too low voids the guarantee.
    q : float in [0, 1], default=0.05
        Share of new rows that may be missed; the authors try 0.02, 0.05 and 0.1.
    forests : {"per_class", "one"}, default="per_class"
        One forest for each known class, with the lowest of its scores for a row, as published; or
        one forest for all known rows. ``paper_table`` sets "one", 100 trees and ``q=0.2``, which
        come closest to the paper's table.
    n_estimators : int, default=1000
        Trees per forest.
    max_samples : int or float, default=0.2
        Rows of the forest that each tree sees: a number, or a share.
    C : float, default=1.0
    gamma : {"scale", "auto"} or float, default="scale"
        Parameters of the SVMs, as in `OVRSVMClassifier`.
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
    The guarantee needs many rows: with theta = 0.5, recall of at least
    1 - q - 0.1 with probability 0.95 takes 1,967 known and as many unlabelled rows, and
    1 - q - 0.05 takes 7,865. See `rows_for_guarantee`.

    Scores are no probabilities, so there is no ``predict_proba``.

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
    _WEIGHTLESS: ClassVar[str | None] = (
        "its trees draw rows, and its guarantee counts them, one by one. Repeat rows instead"
    )

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
        """Rows per tree: at least two, and at most all but one, as far as there are as many."""
        wanted = (
            self.max_samples if is_int(self.max_samples) else math.ceil(self.max_samples * n_rows)
        )
        return max(1, min(max(2, int(wanted)), n_rows - 1))

    def _learn(self, problem: Problem) -> None:
        entropy = draw_entropy(self.random_state)
        theta = self._find_theta(problem, entropy)
        self._machines = OneVersusRest.train(
            problem.X, problem.y, problem.weight, problem.n_known, self.C, self.gamma
        )
        self._forests: list[IsolationTrees] = []
        self.threshold_ = math.inf
        if problem.is_closed:
            return
        group = problem.y if self.forests == "per_class" else np.zeros_like(problem.y)
        rng = generator(entropy, 1)
        seen = []
        for code in range(int(group.max()) + 1):
            own = problem.X[group == code]
            n_samples = self._n_samples(len(own))
            forest = IsolationForest(
                n_estimators=int(self.n_estimators),
                max_samples=n_samples,
                random_state=int(rng.integers(2**31)),
                n_jobs=self.n_jobs,
            ).fit(own)
            self._forests.append(IsolationTrees.freeze(forest, n_samples))
            seen.append(forest.estimators_samples_)
        nominal = self._nominal_scores(problem.X, group, seen)
        mixed = self._scores(problem.X_unlabeled)
        self.threshold_ = pac_threshold(nominal, mixed, theta, self.q)

    def _nominal_scores(
        self, X: NDArray[np.float64], group: NDArray[np.intp], seen: list[Any]
    ) -> NDArray[np.float64]:
        """Scores of known rows, each by the trees that did not see it."""
        scores = np.empty((len(X), len(self._forests)))
        for code, forest in enumerate(self._forests):
            own = group == code
            scores[own, code] = forest.out_of_bag_score(X[own], seen[code], self.n_jobs)
            if not own.all():
                scores[~own, code] = forest.score(X[~own], self.n_jobs)
        lowest: NDArray[np.float64] = scores.min(axis=1)
        lowest = lowest[~np.isnan(lowest)]
        if len(lowest) == 0:
            raise ValueError(
                "every labelled row was seen by every tree, so that none can be scored: raise "
                "n_estimators, lower max_samples or pass more labelled rows"
            )
        return lowest

    def _scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        scores = [forest.score(X, self.n_jobs) for forest in self._forests]
        lowest: NDArray[np.float64] = np.min(scores, axis=0)
        return lowest

    def _judge(self, X: NDArray[np.float64]) -> Verdict:
        known = self._machines.decision_values(X).argmax(axis=1)
        score = self._scores(X) if self._forests else np.zeros(len(X))
        return Verdict(known, score >= self.threshold_, score)

    def _state(self) -> State:
        state = {"threshold": self.threshold_, "n_forests": len(self._forests)}
        for number, forest in enumerate(self._forests):
            state |= forest.state(f"forest{number}")
        return state | self._machines.state("machines")

    def _restore(self, stored: StoredState) -> None:
        self.threshold_ = stored.number("threshold")
        n_forests = stored.integer("n_forests", 0)
        if (n_forests == 0) != (self.new_class_index_ is None):
            raise ValueError("a file has forests if and only if it has a new class")
        self._forests = [
            IsolationTrees.restore(stored, f"forest{number}", self.n_features_in_)
            for number in range(n_forests)
        ]
        self._machines = OneVersusRest.restore(stored, "machines", len(self.known_classes_))

    @staticmethod
    def rows_for_guarantee(theta: float, epsilon: float = 0.1, delta: float = 0.05) -> int:
        """Rows of either kind from which recall of new rows is at least 1 - q - epsilon.

        Parameters
        ----------
        theta : float in (0, 1]
            Share of unlabelled rows that are new.
        epsilon : float, default=0.1
            By how much recall may miss 1 - q.
        delta : float, default=0.05
            Probability that recall misses it by more.

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

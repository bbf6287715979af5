"""EVM: every labelled row has a reach, by extreme value theory; rows out of reach are new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state, gen_batches

from lacforest._input.parameters import check_int, is_int
from lacforest._utils.user_warnings import warn_user
from lacforest._utils.weibull import fit_weibull
from lacforest.baselines._base import Problem, Verdict, VerdictMethod
from lacforest.baselines._files import State, StoredState
from lacforest.baselines._open_simulation import (
    LEAST_CLASSES,
    THRESHOLDS,
    best_threshold,
    check_threshold,
    simulate,
)
from lacforest.baselines._parameters import check_fraction, check_positive

# Tails that tuning tries.
_TAILS: tuple[Any, ...] = (10, 20, 50, 100, 200, "all")
# The published size, used where there are too few classes for tuning.
_TAIL = 50
_BLOCK = 1 << 22


def greedy_cover(covers: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Rows that together cover all, chosen greedily; ties go to the first row.

    Parameters
    ----------
    covers : bool array of shape (n_rows, n_rows)
        Whether row i covers row j. Every row covers itself.

    Returns
    -------
    int array
        The chosen rows, ascending.
    """
    is_open = np.ones(len(covers), dtype=bool)
    chosen = []
    while is_open.any():
        best = int(covers[:, is_open].sum(axis=1).argmax())
        chosen.append(best)
        is_open &= ~covers[best]
    return np.sort(np.array(chosen, dtype=np.intp))


@dataclass(frozen=True)
class ExtremeVectors:
    """Labelled rows and the Weibull law of the reach of each.

    Attributes
    ----------
    rows : float64 array of shape (n_vectors, n_features)
    shape, scale : float64 arrays of shape (n_vectors,)
        Parameters of the laws.
    codes : int array of shape (n_vectors,)
        Classes of the rows.
    n_classes : int
    """

    rows: NDArray[np.float64]
    shape: NDArray[np.float64]
    scale: NDArray[np.float64]
    codes: NDArray[np.intp]
    n_classes: int

    @classmethod
    def fit(
        cls,
        X: NDArray[np.float64],
        y: NDArray[np.intp],
        n_classes: int,
        tail_size: Any,
        margin: float,
        cover: float | None,
    ) -> ExtremeVectors:
        """Fit a law to each row.

        Parameters
        ----------
        X : float64 array of shape (n_rows, n_features)
        y : int array of shape (n_rows,)
            Codes of two or more classes.
        n_classes : int
        tail_size : int or "all"
            Nearest rows of other classes that a law is fitted to.
        margin : float
            Factor of their distances.
        cover : float or None
            Inclusion from which a row represents another one of its class; None keeps all rows.
        """
        parts = []
        for code in range(n_classes):
            own = X[y == code]
            if len(own):
                distances = cdist(own, X[y != code])
                n_others = distances.shape[1]
                tail = n_others if tail_size == "all" else min(tail_size, n_others)
                nearest = np.partition(distances, tail - 1, axis=1)[:, :tail]
                shape, scale = fit_weibull(margin * nearest)
                kept = np.arange(len(own))
                if cover is not None:
                    reached = _inclusion(cdist(own, own), shape, scale).T
                    kept = greedy_cover(reached >= cover)
                parts.append((own[kept], shape[kept], scale[kept], np.full(len(kept), code)))
        rows, shapes, scales, codes = map(np.concatenate, zip(*parts, strict=True))
        return cls(rows, shapes, scales, codes, n_classes)

    def memberships(self, X: NDArray[np.float64], n_fused: int) -> NDArray[np.float64]:
        """Mean of the `n_fused` largest inclusions in each class, an array (n_rows, n_classes)."""
        found = np.zeros((len(X), self.n_classes))
        for batch in gen_batches(len(X), max(1, _BLOCK // len(self.rows))):
            inclusion = _inclusion(cdist(X[batch], self.rows), self.shape, self.scale)
            for code in range(self.n_classes):
                own = inclusion[:, self.codes == code]
                if own.shape[1] > n_fused:
                    own = np.partition(own, -n_fused, axis=1)[:, -n_fused:]
                if own.shape[1]:
                    found[batch, code] = own.mean(axis=1)
        return found


def _inclusion(
    distances: NDArray[np.float64], shape: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Psi = exp(-(distance / scale)^shape), one column per extreme vector."""
    with np.errstate(over="ignore"):
        inclusion: NDArray[np.float64] = np.exp(-((distances / scale) ** shape))
    return inclusion


class EVMClassifier(VerdictMethod):
    """Extreme value machine [1]_: rows that no labelled row reaches are new.

    Half the distances of a row to the nearest rows of other classes are margins. A Weibull law that
    is fitted to them gives the probability that a point at some distance still belongs to the row.
    A class has the highest probability of its rows. Unlabelled rows are accepted and ignored.

    Parameters
    ----------
    tail_size : int, "all" or "tuned", default=50
        Rows of other classes that a law is fitted to; 50 as published, which also comes closest
        to the paper's table. Results depend strongly on it, and the best size on the dataset.
        "tuned" takes, of six sizes, the one with the best normalised accuracy where half of the
        known classes pretend to be unknown.
    threshold : float in [0, 1] or "tuned", default=0.5
        Probability below which a row is new. The authors tune it on classes that are held out,
        as "tuned" does.
    n_fused : int, default=1
        Probabilities of a class that are averaged, the largest ones: 1 in the article, 4 in the
        authors' program.
    margin : float, default=0.5
        Factor that turns distances into margins.
    cover : float in (0, 1) or None, default=0.5
        Model reduction: a labelled row that another row of its class reaches with this probability
        is dropped where possible, by greedy set cover. None keeps all rows.
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
    tail_size_ : int or "all"
    threshold_ : float
    n_extreme_vectors_ : int
        Labelled rows that are kept.
    classes_, known_classes_, new_label_, new_class_index_
        As in `LACForestClassifier`. There is always a new class.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    The law is the article's, ``exp(-(distance / scale) ** shape)``: 1 at the row itself, and the
    same if all features are multiplied by a number. The authors' program shifts the margins by 1
    before it fits, and so depends on the unit of the features.

    Tuning needs three known classes. With two, "tuned" means the defaults, and `fit` warns.

    Inclusions of the classes do not sum to one, so there is no ``predict_proba``.

    References
    ----------
    .. [1] E. M. Rudd, L. P. Jain, W. J. Scheirer and T. E. Boult, "The Extreme Value Machine", IEEE
       TPAMI 40, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.baselines import EVMClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0, 0], [6, 0], [0, 6]], 50, axis=0) + rng.normal(size=(150, 2))
    >>> y = np.repeat(["a", "b", "c"], 50)
    >>> EVMClassifier().fit(X, y).predict([[0, 0], [6, 0], [20, 20]])
    array(['a', 'b', '<new>'], dtype='<U5')
    """

    _uses_unlabeled: ClassVar[bool] = False
    _WEIGHTLESS: ClassVar[str | None] = (
        "its laws are fitted to the distances of the nearest rows, and a weight makes no row nearer"
    )

    def __init__(
        self,
        tail_size: Any = _TAIL,
        *,
        threshold: Any = 0.5,
        n_fused: int = 1,
        margin: float = 0.5,
        cover: float | None = 0.5,
        n_simulations: int = 10,
        unlabeled_label: Any = None,
        new_label: Any = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.tail_size = tail_size
        self.threshold = threshold
        self.n_fused = n_fused
        self.margin = margin
        self.cover = cover
        self.n_simulations = n_simulations
        self.unlabeled_label = unlabeled_label
        self.new_label = new_label
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if isinstance(self.tail_size, str):
            if self.tail_size not in ("all", "tuned"):
                raise ValueError(
                    f'tail_size must be "all", "tuned" or an integer, got {self.tail_size!r}'
                )
        else:
            check_int("tail_size", self.tail_size, 1)
        check_threshold(self.threshold)
        check_int("n_fused", self.n_fused, 1)
        check_positive("margin", self.margin)
        if self.cover is not None:
            check_fraction("cover", self.cover)
        check_int("n_simulations", self.n_simulations, 1)

    def _learn(self, problem: Problem) -> None:
        self._need_two_classes(problem)
        tails = _TAILS if self.tail_size == "tuned" else (self.tail_size,)
        thresholds = THRESHOLDS
        if self.threshold != "tuned":
            thresholds = np.array([float(self.threshold)])
        if problem.n_known < LEAST_CLASSES and len(tails) * len(thresholds) > 1:
            warn_user(
                "tuning needs three known classes, and y has two: the defaults take the place of "
                '"tuned". Pass numbers to choose them yourself.',
                UserWarning,
            )
            tails = (_TAIL,) if self.tail_size == "tuned" else tails
            thresholds = np.array([0.5]) if self.threshold == "tuned" else thresholds
        self.tail_size_, self.threshold_ = tails[0], float(thresholds[0])
        if len(tails) * len(thresholds) > 1:
            self.tail_size_, self.threshold_ = self._tune(problem, tails, thresholds)
        self._vectors = self._reach(problem.X, problem.y, problem.n_known, self.tail_size_)
        self.n_extreme_vectors_ = len(self._vectors.rows)

    def _reach(
        self, X: NDArray[np.float64], y: NDArray[np.intp], n_classes: int, tail_size: Any
    ) -> ExtremeVectors:
        size = int(tail_size) if is_int(tail_size) else tail_size
        return ExtremeVectors.fit(X, y, n_classes, size, self.margin, self.cover)

    def _tune(
        self, problem: Problem, tails: tuple[Any, ...], thresholds: NDArray[np.float64]
    ) -> tuple[Any, float]:
        seed = check_random_state(self.random_state).randint(2**31)
        parts = list(simulate(problem.y, self.n_simulations, np.random.default_rng(seed)))
        best = (-1.0, tails[0], float(thresholds[0]))
        for tail in tails:
            judged = []
            for part in parts:
                vectors = self._reach(
                    problem.X[part.fitting], problem.y[part.fitting], problem.n_known, tail
                )
                known, unknown = (
                    vectors.memberships(problem.X[tested], self.n_fused)
                    for tested in (part.known, part.unknown)
                )
                right = known.argmax(axis=1) == problem.y[part.known]
                judged.append((known.max(axis=1), right, unknown.max(axis=1)))
            threshold, accuracy = best_threshold(judged, thresholds, np.greater_equal)
            if accuracy > best[0]:
                best = (accuracy, tail, threshold)
        return best[1], best[2]

    def _judge(self, X: NDArray[np.float64]) -> Verdict:
        memberships = self._vectors.memberships(X, self.n_fused)
        largest = memberships.max(axis=1)
        return Verdict(memberships.argmax(axis=1), largest < self.threshold_, 1.0 - largest)

    def _state(self) -> State:
        vectors = self._vectors
        return {
            "tail_size": self.tail_size_,
            "threshold": self.threshold_,
            "rows": vectors.rows,
            "shape": vectors.shape,
            "scale": vectors.scale,
            "codes": vectors.codes.astype(np.int64),
        }

    def _restore(self, stored: StoredState) -> None:
        self.tail_size_ = stored.value("tail_size")
        if self.tail_size_ != "all":
            check_int("tail_size", self.tail_size_, 1)
        self.threshold_ = stored.number("threshold", 0.0, 1.0)
        self._vectors = ExtremeVectors(
            stored.array("rows", ("n_vectors", "n_features")),
            stored.array("shape", ("n_vectors",)),
            stored.array("scale", ("n_vectors",)),
            stored.codes("codes", "n_vectors"),
            len(self.known_classes_),
        )
        if not ((self._vectors.shape > 0) & (self._vectors.scale > 0)).all():
            raise ValueError("a Weibull law has a shape or scale that is not positive")
        self.n_extreme_vectors_ = len(self._vectors.rows)

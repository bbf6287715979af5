"""EULAC: kernel machines by an unbiased risk of the square loss, in closed form."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.metrics import accuracy_score, euclidean_distances
from sklearn.model_selection import StratifiedKFold

from lacforest._growing.plan import draw_entropy
from lacforest._input.parameters import check_int, is_real
from lacforest._utils.kernel_width import median_gamma
from lacforest.baselines._base import Problem, ShareMethod, Verdict, VerdictMethod, generator
from lacforest.baselines._files import State, StoredState
from lacforest.baselines._kernels import KernelExpansion, check_gamma, gaussian_kernel
from lacforest.baselines._parameters import check_positive
from lacforest.metrics import augmented_accuracy_score
from lacforest.model_selection import AugmentedKFold

# Candidates of cross-validation; the authors' grid is not known. Widths are multiples of the
# median's.
_GAMMAS = (0.25, 1.0, 4.0)
_REGULARIZATIONS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
_UNLABELED = -1


class Coefficients(NamedTuple):
    """Kernel expansions of the machines, one column each: over labelled, over unlabelled rows."""

    labeled: NDArray[np.float64]
    unlabeled: NDArray[np.float64]


class RowWeights(NamedTuple):
    """Weights of labelled and of unlabelled rows, all positive."""

    labeled: NDArray[np.float64]
    unlabeled: NDArray[np.float64]


def solve_square_loss(
    kernel_uu: NDArray[np.float64],
    kernel_ul: NDArray[np.float64],
    signs: NDArray[np.float64],
    weights: RowWeights,
    known_share: float,
    regularization: float,
) -> Coefficients:
    """Minimise the unbiased risk of the square loss (1 - z)^2 / 4, for all machines at once.

    With pi the share of known rows, weights w of labelled rows with sum W and v of unlabelled rows
    with sum V, and f = sum_i a_i k(x_i, .) + sum_j b_j k(x_j, .), machine c is the minimum of

        -(pi / W) sum_i w_i signs[i, c] f(x_i) + (1 / V) sum_j v_j (1 - t_c f(x_j))^2 / 4
        + lam |f|^2,

    where t_c is +1 for the new class, whose signs are negative, and -1 for known ones. So
    a_i = pi w_i signs[i] / (2 lam W) and (K_UU + 4 lam diag(V / v)) b = t - K_UL a.

    Parameters
    ----------
    kernel_uu : float64 array of shape (n_unlabeled, n_unlabeled)
    kernel_ul : float64 array of shape (n_unlabeled, n_labeled)
    signs : float64 array of shape (n_labeled, n_machines)
    weights : RowWeights
    known_share : float
    regularization : float
    """
    targets = np.where(signs.min(axis=0) < 0, 1.0, -1.0)
    factor_labeled = known_share / (2.0 * regularization * weights.labeled.sum())
    a = factor_labeled * (weights.labeled[:, None] * signs)
    matrix = kernel_uu.copy()
    ridge = 4.0 * regularization * (weights.unlabeled.sum() / weights.unlabeled)
    matrix.flat[:: len(matrix) + 1] += ridge
    try:
        # The transpose is in the order that LAPACK expects, and is not copied.
        factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError as error:
        raise ValueError(
            f"regularization={regularization!r} vanishes beside the rounding of the kernel: raise "
            "it"
        ) from error
    return Coefficients(a, cho_solve(factor, targets - kernel_ul @ a, check_finite=False))


def make_signs(y: NDArray[np.intp], n_known: int, has_new: bool) -> NDArray[np.float64]:
    """1 where a labelled row is of the machine's class, and -1 throughout for the new class."""
    signs = np.zeros((len(y), n_known + has_new))
    signs[np.arange(len(y)), y] = 1.0
    signs[:, n_known:] = -1.0
    return signs


class EULACClassifier(VerdictMethod, ShareMethod):
    """Gaussian kernel machines trained on an unbiased risk over known and new rows [1]_.

    One machine for each known class and one for the new class, each against the rest. The risk of
    new rows is that of unlabelled rows minus that of known ones; for the square loss it is convex,
    and its minimum has a closed form. A row gets the class of the machine with the highest output.

    Without unlabelled rows the labelled ones take their place, theta is 0, and what is left is a
    least-squares classifier of the known classes.

    Parameters
    ----------
    theta : "auto", float in (0, 1) or estimator, default="auto"
        Share of unlabelled rows that are new, as in `LACForestClassifier`. The authors estimate it
        by ``KernelMeanEmbedding()``.
    known_shares : "auto", "labeled", array or dict, default="auto"
        Shares of the known classes in deployment, as in `LACForestClassifier`: the labelled part of
        the risk is weighted to them.
    gamma : "cv", "median" or float, default="cv"
        Kernel ``exp(-gamma * distance ** 2)``. "median" is one over the median of squared distances
        between rows; "cv" tries a quarter of that, itself and four times that.
    regularization : "cv" or float, default="cv"
        Weight of the squared norms. "cv" tries 1e-5, 1e-4, ..., 0.1.
    cv : int, default=5
        Folds for "cv", fewer where there are too few rows. Candidates are compared by
        `lacforest.metrics.augmented_accuracy_score`, which needs no label of a new row.
    unlabeled_label : object, default=None
        A label that marks unlabelled rows inside X.
    new_label : "auto" or label, default="auto"
        What to predict for new rows, as in `LACForestClassifier`.
    n_jobs : int or None, default=None
        Threads of the estimate of theta.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of the estimate of theta.

    Attributes
    ----------
    gamma_, regularization_ : float
    cv_scores_ : dict
        Mean estimated accuracy of each pair (gamma, regularization); empty if there was only one
        pair.
    known_shares_, known_shares_interval_, share_shift_
        As in `LACForestClassifier`.
    theta_, theta_interval_, theta_estimator_
        As in `LACForestClassifier`.
    classes_, known_classes_, new_label_, new_class_index_
        As in `LACForestClassifier`.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Memory grows with the square of the number of rows, and time with the cube of the number of
    unlabelled ones: up to some ten thousand rows.

    The novelty score is the margin of the new class: the output of its machine minus the highest
    output of a known one. Outputs are margins, so there is no ``predict_proba``.

    A row of weight w counts as w rows in the risk and in the accuracies of cross-validation.
    Weights enter neither the folds nor the median distance.

    References
    ----------
    .. [1] Y.-J. Zhang, P. Zhao, L. Ma and Z.-H. Zhou, "An Unbiased Risk Estimator for Learning with
       Augmented Classes", NeurIPS 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.baselines import EULACClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0, 0], [6, 0]], 100, axis=0) + rng.normal(size=(200, 2))
    >>> y = np.repeat(["a", "b"], 100)
    >>> deployed = np.vstack([X, [3, 9] + rng.normal(size=(200, 2))])
    >>> eulac = EULACClassifier(theta=0.5, random_state=0).fit(X, y, X_unlabeled=deployed)
    >>> eulac.predict([[0, 0], [6, 0], [3, 9]])
    array(['a', 'b', '<new>'], dtype='<U5')
    """

    def __init__(
        self,
        *,
        theta: Any = "auto",
        known_shares: Any = "auto",
        gamma: Any = "cv",
        regularization: Any = "cv",
        cv: int = 5,
        unlabeled_label: Any = None,
        new_label: Any = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.theta = theta
        self.known_shares = known_shares
        self.gamma = gamma
        self.regularization = regularization
        self.cv = cv
        self.unlabeled_label = unlabeled_label
        self.new_label = new_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_gamma(self.gamma, "cv", "median")
        if not (isinstance(self.regularization, str) and self.regularization == "cv"):
            if not is_real(self.regularization):
                raise TypeError(
                    f'regularization must be "cv" or a positive number, got {self.regularization!r}'
                )
            check_positive("regularization", self.regularization)
        check_int("cv", self.cv, 2)

    def _learn(self, problem: Problem) -> None:
        entropy = draw_entropy(self.random_state)
        theta, problem = self._find_deployment(problem, entropy)
        rng = generator(entropy, 1)
        has_new = not problem.is_closed
        unlabeled = problem.X_unlabeled if has_new else problem.X
        rows = np.vstack([problem.X, unlabeled])
        weights = RowWeights(problem.weight, np.ones(len(unlabeled)) if has_new else problem.weight)
        gammas, regularizations = self._candidates(rows, rng)
        self.cv_scores_: dict[tuple[float, float], float] = {}
        best = (gammas[0], regularizations[0])
        if len(gammas) * len(regularizations) > 1:
            folds = _Folds(problem, rows, weights, theta, self.cv, int(rng.integers(2**31)))
            self.cv_scores_ = folds.score_candidates(gammas, regularizations)
            best = max(self.cv_scores_, key=lambda pair: self.cv_scores_[pair])
        self.gamma_, self.regularization_ = best
        n_labeled = len(problem.y)
        kernel = gaussian_kernel(unlabeled, rows, self.gamma_)
        signs = make_signs(problem.y, problem.n_known, has_new)
        coefficients = np.vstack(
            solve_square_loss(
                kernel[:, n_labeled:], kernel[:, :n_labeled], signs, weights, 1.0 - theta, best[1]
            )
        )
        biases = np.zeros(signs.shape[1])
        self._machines = KernelExpansion("rbf", self.gamma_, rows, coefficients, biases)

    def _candidates(
        self, rows: NDArray[np.float64], rng: np.random.Generator
    ) -> tuple[list[float], list[float]]:
        gammas = [self.gamma]
        if isinstance(self.gamma, str):
            factors = _GAMMAS if self.gamma == "cv" else (1.0,)
            middle = median_gamma(rows, rng)
            gammas = [factor * middle for factor in factors]
        fixed = not isinstance(self.regularization, str)
        regularizations = [self.regularization] if fixed else list(_REGULARIZATIONS)
        return [float(gamma) for gamma in gammas], [float(value) for value in regularizations]

    def _judge(self, X: NDArray[np.float64]) -> Verdict:
        values = self._machines.values(X)
        n_known = len(self.known_classes_)
        known = values[:, :n_known]
        margin = values[:, -1] - known.max(axis=1)
        is_new = margin > 0 if values.shape[1] > n_known else np.zeros(len(X), dtype=bool)
        return Verdict(known.argmax(axis=1), is_new, margin)

    def _state(self) -> State:
        scores = np.array([[*pair, score] for pair, score in self.cv_scores_.items()])
        return {
            "regularization": self.regularization_,
            "cv_scores": scores.reshape(-1, 3),
            **self._machines.state("machines"),
        }

    def _restore(self, stored: StoredState) -> None:
        self.regularization_ = stored.number("regularization", 0.0)
        scores = stored.array("cv_scores", ("n_candidates", 3)).tolist()
        self.cv_scores_ = {(gamma, strength): score for gamma, strength, score in scores}
        self._machines = KernelExpansion.restore(stored, "machines", "n_classes")
        self.gamma_ = self._machines.gamma


@dataclass(frozen=True)
class _Folds:
    """Cross-validation of EULAC over one set of folds.

    Attributes
    ----------
    problem : Problem
    rows : float64 array
        Labelled rows, then those that stand for unlabelled ones.
    weights : RowWeights
        Of `rows`.
    theta : float
    n_folds : int
        Fewer are used where there are too few rows.
    seed : int
    """

    problem: Problem
    rows: NDArray[np.float64]
    weights: RowWeights
    theta: float
    n_folds: int
    seed: int

    def score_candidates(
        self, gammas: list[float], regularizations: list[float]
    ) -> dict[tuple[float, float], float]:
        """Estimated accuracy of every candidate, over the same folds."""
        marks = np.full(len(self.rows), _UNLABELED)
        marks[: len(self.problem.y)] = self.problem.y
        folds = list(self._split(marks))
        squared = euclidean_distances(self.rows, squared=True)
        scores: dict[tuple[float, float], float] = {}
        for gamma in gammas:
            kernel = np.exp(-gamma * squared)
            of_folds = [self._score_fold(kernel, marks, *fold, regularizations) for fold in folds]
            for regularization, mean in zip(
                regularizations, np.mean(of_folds, axis=0), strict=True
            ):
                scores[gamma, regularization] = float(mean)
        return scores

    def _score_fold(
        self,
        kernel: NDArray[np.float64],
        marks: NDArray[np.intp],
        train: NDArray[np.intp],
        test: NDArray[np.intp],
        regularizations: list[float],
    ) -> list[float]:
        """Estimated accuracy on one fold, for every regularization."""
        n_labeled, has_new = len(self.problem.y), not self.problem.is_closed
        labeled, unlabeled = train[train < n_labeled], train[train >= n_labeled]
        signs = make_signs(marks[labeled], self.problem.n_known, has_new)
        weight = np.concatenate(self.weights)
        weights = RowWeights(weight[labeled], weight[unlabeled])
        kernel_uu = kernel[np.ix_(unlabeled, unlabeled)]
        kernel_ul = kernel[np.ix_(unlabeled, labeled)]
        kernel_test = kernel[np.ix_(test, np.concatenate([labeled, unlabeled]))]
        scores = []
        for regularization in regularizations:
            found = solve_square_loss(
                kernel_uu, kernel_ul, signs, weights, 1.0 - self.theta, regularization
            )
            predicted = (kernel_test @ np.vstack(found)).argmax(axis=1)
            scores.append(self._accuracy(marks[test], predicted, weight[test]))
        return scores

    def _accuracy(
        self, marks: NDArray[np.intp], predicted: NDArray[np.intp], weight: NDArray[np.float64]
    ) -> float:
        if self.problem.is_closed:
            return float(accuracy_score(marks, predicted, sample_weight=weight))
        return augmented_accuracy_score(
            marks,
            predicted,
            theta=self.theta,
            new_label=self.problem.n_known,
            unlabeled_label=_UNLABELED,
            sample_weight=weight,
        )

    def _split(
        self, marks: NDArray[np.intp]
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Row numbers of the stack for training and testing."""
        problem = self.problem
        n_labeled = len(problem.y)
        most = int(np.bincount(problem.y).max())
        n_unlabeled = n_labeled if problem.is_closed else len(problem.X_unlabeled)
        n_folds = min(self.n_folds, most, n_unlabeled)
        if n_folds < 2:
            raise ValueError(
                "cross-validation needs two labelled rows of one class and two unlabelled rows, "
                f"but there is at most 1 sample of a class, or n_samples=1 unlabelled: got {most} "
                f"and {len(problem.X_unlabeled)}. Pass gamma and regularization as numbers."
            )
        with warnings.catch_warnings():
            # A class with fewer rows than folds is absent from some test folds.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            if not problem.is_closed:
                splitter = AugmentedKFold(
                    n_folds, unlabeled_label=_UNLABELED, random_state=self.seed
                )
                yield from splitter.split(marks, marks)
                return
            by_class = StratifiedKFold(n_folds, shuffle=True, random_state=self.seed)
            for train, test in by_class.split(problem.y, problem.y):
                # The labelled rows occur twice; the second copies stand for unlabelled ones.
                yield np.concatenate([train, train + n_labeled]), test

"""Hypothesis strategies: node counts, and small problems and scores full of ties."""

import warnings
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from lacforest import LACForestClassifier

# Typical values, and edge cases such as 0.29 * 100 and 1/3 * n, where products are inexact.
thetas = st.one_of(
    st.integers(1, 99).map(lambda percent: percent / 100),
    st.integers(2, 9).map(lambda whole: 1 / whole),
    st.floats(0.01, 0.99),
)
# Zero, shares that equal a bound exactly, and arbitrary values.
gammas = st.one_of(
    st.sampled_from([0.0, 0.01, 0.05, 0.1, 0.2, 0.25, 1 / 3, 0.5]), st.floats(0.001, 0.5)
)
seeds = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class Problem:
    """The arguments of fit, and the parameters that determine which cuts are feasible."""

    X: np.ndarray
    y: np.ndarray
    X_unlabeled: np.ndarray
    theta: float
    gamma: float
    max_features: int
    weight: np.ndarray | None = None
    categorical: tuple = ()  # columns of categories, in codes without gaps

    @property
    def n_categories(self):
        present = [np.unique(column[~np.isnan(column)]) for column in self.everyone.T]
        return {feature: len(present[feature]) for feature in self.categorical}

    @property
    def n_unlabeled(self):
        return len(self.X_unlabeled)

    @property
    def n_known(self):
        return len(np.unique(self.y))

    @property
    def codes(self):
        return np.unique(self.y, return_inverse=True)[1]

    @property
    def row_weights(self):
        return np.ones(len(self.X), dtype=int) if self.weight is None else self.weight

    @property
    def everyone(self):
        return np.vstack([self.X, self.X_unlabeled])

    def but(self, **changes):
        return replace(self, **changes)

    def without_unlabeled(self):
        """The plain forest of the known classes."""
        return self.but(X_unlabeled=self.X_unlabeled[:0])

    def with_table(self, table):
        """The same problem on other values, labelled rows first."""
        return self.but(X=table[: len(self.X)], X_unlabeled=table[len(self.X) :])

    def fit(self, n_estimators=3, random_state=0, **parameters):
        """A forest by the paper's rule: classes keep their shares, whatever the rows say."""
        categorical = list(self.categorical)
        parameters = {"known_shares": "labeled", "categorical_features": categorical} | parameters
        forest = LACForestClassifier(
            n_estimators,
            theta=self.theta,
            gamma=self.gamma,
            max_features=self.max_features,
            random_state=random_state,
            **parameters,
        )
        with warnings.catch_warnings():
            # Small problems often have no feasible cut; ignore the warning.
            warnings.filterwarnings("ignore", message="Step I found no feasible split")
            unlabeled = self.X_unlabeled if self.n_unlabeled > 0 else None
            return forest.fit(self.X, self.y, sample_weight=self.weight, X_unlabeled=unlabeled)


def _columns(n_rows, values):
    return st.lists(values, min_size=n_rows, max_size=n_rows).map(np.array)


# Magnitudes that remain normal floats when scaled by a power of two.
_ordinary = st.floats(-1e6, 1e6).map(lambda value: value if abs(value) > 1e-6 else 0.0)


@st.composite
def tables(draw, n_rows, n_features, with_missing=False):
    """Columns of few distinct values, of floats, or constant; missing values in some."""
    columns = []
    for _ in range(n_features):
        kind = draw(st.sampled_from(["grid", "grid", "tenths", "floats", "constant"]))
        if kind == "constant":
            column = np.full(n_rows, draw(st.integers(-2, 2)), dtype=float)
        else:
            values = {
                "grid": st.integers(0, draw(st.integers(1, 6))).map(float),
                "tenths": st.integers(-20, 20).map(lambda tenths: tenths / 10),
                "floats": _ordinary,
            }[kind]
            column = draw(_columns(n_rows, values)).astype(float)
        if with_missing and draw(st.booleans()):
            column[draw(_columns(n_rows, st.sampled_from([False, False, True])))] = np.nan
        columns.append(column)
    table = np.column_stack(columns)
    # Duplicate rows.
    if draw(st.booleans()):
        table = table[draw(_columns(n_rows, st.integers(0, n_rows - 1)))]
    return table


@st.composite
def problems(draw, max_rows=40, with_missing=None, with_weight=False):
    """Augmented problems of 2 to max_rows rows of each kind.

    with_missing: True, False, or None for either. Weights are whole numbers from 1.
    """
    n_labeled, n_unlabeled = draw(st.integers(2, max_rows)), draw(st.integers(2, max_rows))
    n_features = draw(st.integers(1, 5))
    missing = draw(st.booleans()) if with_missing is None else with_missing
    table = draw(tables(n_labeled + n_unlabeled, n_features, missing))
    n_known = draw(st.integers(1, min(4, n_labeled)))
    # Every class has at least one row, at any position.
    rest = draw(_columns(n_labeled - n_known, st.integers(0, n_known - 1))).astype(int)
    y = np.concatenate([rest, np.arange(n_known)])
    weight = None
    if with_weight:
        weight = draw(_columns(n_labeled, st.integers(1, 4)))
    return Problem(
        X=table[:n_labeled],
        y=y,
        X_unlabeled=table[n_labeled:],
        theta=draw(thetas),
        gamma=draw(gammas),
        max_features=draw(st.integers(1, n_features)),
        weight=weight,
    )


@st.composite
def categorical_problems(draw, **arguments):
    """Problems of which one column or more holds categories, in codes without gaps."""
    problem = draw(problems(**arguments))
    table = problem.everyone
    chosen = draw(st.sets(st.integers(0, table.shape[1] - 1), min_size=1))
    for feature in chosen:
        present = ~np.isnan(table[:, feature])
        table[present, feature] = np.unique(table[present, feature], return_inverse=True)[1]
    return problem.with_table(table).but(categorical=tuple(sorted(chosen)))


def permutations(n_rows):
    return st.permutations(range(n_rows)).map(lambda order: np.array(order, dtype=np.intp))


@st.composite
def increasing_maps(draw, column):
    """The column with its distinct values replaced by others in the same order."""
    present = ~np.isnan(column)
    distinct, ranks = np.unique(column[present], return_inverse=True)
    size = len(distinct)
    images = draw(st.lists(_ordinary, min_size=size, max_size=size, unique=True))
    mapped = column.copy()
    mapped[present] = np.sort(np.array(images, dtype=float))[ranks]
    return mapped


# ---------------------------------------------------------------------------- scores


@dataclass(frozen=True)
class ScoreSamples:
    """The arguments of fit_scores."""

    labeled: np.ndarray
    unlabeled: np.ndarray
    weight: np.ndarray | None = None

    @property
    def everyone(self):
        return np.concatenate([self.labeled, self.unlabeled])

    def but(self, **changes):
        return replace(self, **changes)

    def with_scores(self, scores):
        """Other scores, those of labelled rows first."""
        n_labeled = len(self.labeled)
        return self.but(labeled=scores[:n_labeled], unlabeled=scores[n_labeled:])

    def fit(self, estimator):
        return estimator.fit_scores(self.labeled, self.unlabeled, self.weight)


@st.composite
def score_samples(draw, max_rows=40, with_weight=False):
    """Scores of 1 to max_rows rows of each kind. Weights are whole numbers from 1."""
    n_labeled, n_unlabeled = draw(st.integers(1, max_rows)), draw(st.integers(1, max_rows))
    kind = draw(st.sampled_from(["few", "tenths", "floats", "constant"]))
    values = {
        "few": st.integers(0, draw(st.integers(1, 6))).map(float),
        "tenths": st.integers(-20, 20).map(lambda tenths: tenths / 10),
        "floats": _ordinary,
        "constant": st.just(0.5),
    }[kind]
    labeled = draw(_columns(n_labeled, values)).astype(float)
    unlabeled = draw(_columns(n_unlabeled, values)).astype(float)
    # Rows with scores above those of all labelled rows.
    unlabeled[: draw(st.integers(0, n_unlabeled))] += draw(st.sampled_from([0.0, 0.0, 1.0, 1e7]))
    weight = draw(_columns(n_labeled, st.integers(1, 4))) if with_weight else None
    return ScoreSamples(labeled, unlabeled, weight)


# ---------------------------------------------------------------------------- node counts


@dataclass(frozen=True)
class Children:
    """Counts on both sides of a cut, within a training set of n_l and n_u rows."""

    left: list
    left_unlabeled: int
    right: list
    right_unlabeled: int
    theta: Fraction
    n_labeled: int
    n_unlabeled: int

    @property
    def node(self):
        return [a + b for a, b in zip(self.left, self.right, strict=True)]

    @property
    def node_unlabeled(self):
        return self.left_unlabeled + self.right_unlabeled


@st.composite
def children(draw, max_count=1000):
    """Counts of two siblings; the node holds at least one unlabelled row."""
    n_known = draw(st.integers(1, 6))
    counts = st.lists(st.integers(0, max_count), min_size=n_known, max_size=n_known)
    left, right = draw(counts), draw(counts)
    left_unlabeled, right_unlabeled = (
        draw(st.integers(0, max_count)),
        draw(st.integers(1, max_count)),
    )
    beyond = st.integers(0, 10 * max_count)
    return Children(
        left,
        left_unlabeled,
        right,
        right_unlabeled,
        Fraction(draw(st.floats(0.0, 1.0))),
        max(1, sum(left) + sum(right) + draw(beyond)),
        left_unlabeled + right_unlabeled + draw(beyond),
    )

"""The protocol of the paper: hide classes, then draw labelled, unlabelled and test rows."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state, indexable

from lacforest._growing.plan import floor_with_tolerance
from lacforest._input.ground_truth import find_named, rename, two_or_more_classes
from lacforest._input.labels import make_labels
from lacforest._input.parameters import check_int, check_share, is_int, is_real

_MOST_TEST_ROWS = 1000


@dataclass(frozen=True, eq=False)
class AugmentedSplit:
    """The rows of a table in three parts, with some classes hidden from the labels.

    Attributes
    ----------
    labeled, unlabeled, test : ndarray of int
        Row numbers, disjoint. In `unlabeled` and `test` known and new rows are mixed.
    hidden, known : ndarray
        The classes, sorted.
    new_label : object
        The label of all hidden classes in `truth`.
    truth : ndarray of shape (n_rows,)
        y of the whole table with hidden classes replaced by `new_label`.
    X : array-like of shape (n_rows, n_features)
        The whole table.
    """

    labeled: NDArray[np.intp] = field(repr=False)
    unlabeled: NDArray[np.intp] = field(repr=False)
    test: NDArray[np.intp] = field(repr=False)
    hidden: NDArray[Any]
    known: NDArray[Any]
    new_label: Any
    truth: NDArray[Any] = field(repr=False)
    X: Any = field(repr=False)

    @property
    def theta(self) -> float:
        """Share of new rows among the unlabelled ones, as drawn."""
        return float(np.mean(self.y_unlabeled == self.new_label))

    @property
    def X_labeled(self) -> Any:  # noqa: N802
        """Table of the labelled rows."""
        return _safe_indexing(self.X, self.labeled)

    @property
    def y_labeled(self) -> NDArray[Any]:
        """Labels of the labelled rows: known classes only."""
        return self.truth[self.labeled]

    @property
    def X_unlabeled(self) -> Any:  # noqa: N802
        """Table of the unlabelled rows."""
        return _safe_indexing(self.X, self.unlabeled)

    @property
    def y_unlabeled(self) -> NDArray[Any]:
        """True labels of the unlabelled rows, for evaluation only."""
        return self.truth[self.unlabeled]

    @property
    def X_test(self) -> Any:  # noqa: N802
        """Table of the test rows."""
        return _safe_indexing(self.X, self.test)

    @property
    def y_test(self) -> NDArray[Any]:
        """Labels of the test rows, `new_label` for those of hidden classes."""
        return self.truth[self.test]


# ---------------------------------------------------------------------------- classes


def _choose_hidden(
    classes: NDArray[Any], hidden: Any, rng: np.random.RandomState
) -> NDArray[np.bool_]:
    """Which classes are hidden."""
    if isinstance(hidden, list | tuple | set | frozenset | np.ndarray):
        return find_named(classes, hidden)
    if is_int(hidden):
        if not 1 <= hidden < len(classes):
            raise ValueError(
                f"hidden={hidden} of {len(classes)} classes: at least one must be hidden and one "
                "known"
            )
        number = int(hidden)
    elif is_real(hidden):
        if not 0.0 < hidden < 1.0:
            raise ValueError(f"hidden as a share must lie strictly between 0 and 1, got {hidden}")
        number = min(max(floor_with_tolerance(hidden * len(classes)), 1), len(classes) - 1)
    else:
        raise TypeError(
            "hidden must be a share of the classes, a number of classes, or a list of classes, "
            f"got {hidden!r}"
        )
    chosen = np.zeros(len(classes), dtype=bool)
    chosen[rng.choice(len(classes), size=number, replace=False)] = True
    return chosen


# ---------------------------------------------------------------------------- rows


@dataclass(frozen=True)
class _Plan:
    """The number of rows of each part."""

    n_labeled: int
    n_unlabeled: int
    n_test: int
    theta: float

    @property
    def n_new_unlabeled(self) -> int:
        return round(self.theta * self.n_unlabeled)

    @property
    def n_new_test(self) -> int:
        return round(self.theta * self.n_test)

    @property
    def n_new(self) -> int:
        return self.n_new_unlabeled + self.n_new_test

    @property
    def n_known(self) -> int:
        return self.n_labeled + self.n_unlabeled + self.n_test - self.n_new

    def fits(self, n_known: int, n_new: int) -> bool:
        return self.n_known <= n_known and self.n_new <= n_new


def _too_few(plan: _Plan, n_known: int, n_new: int, advice: str) -> ValueError:
    return ValueError(
        f"not enough rows: n_labeled={plan.n_labeled}, n_unlabeled={plan.n_unlabeled} and "
        f"n_test={plan.n_test} at theta={plan.theta} need {plan.n_known} known and {plan.n_new} "
        f"new rows, but known classes have {n_known} rows and hidden classes {n_new}. {advice}"
    )


def _shrink(plan: _Plan, n_known: int, n_new: int) -> _Plan:
    """The largest plan that fits and keeps theta and the proportions of the parts."""
    n = plan.n_unlabeled

    def scaled(k: int) -> _Plan:
        n_labeled, n_test = plan.n_labeled * k // n, plan.n_test * k // n
        return replace(plan, n_labeled=n_labeled, n_unlabeled=k, n_test=n_test)

    # The rows needed grow with k, so the plans that fit come first.
    k = bisect.bisect_left(range(1, n + 1), True, key=lambda k: not scaled(k).fits(n_known, n_new))
    smaller = scaled(k)
    if k == 0 or smaller.n_labeled == 0 or (plan.n_test > 0 and smaller.n_test == 0):
        advice = "Shrinking would leave a part without rows: change theta, hidden or the sizes."
        raise _too_few(plan, n_known, n_new, advice)
    return smaller


def _fill_test(plan: _Plan, n_known: int, n_new: int) -> _Plan:
    """As many test rows as remain at this theta."""
    for n_test in range(_MOST_TEST_ROWS, 0, -1):
        filled = replace(plan, n_test=n_test)
        if filled.fits(n_known, n_new):
            return filled
    raise ValueError(
        f"no rows remain for a test set: {plan.n_labeled} labelled and {plan.n_unlabeled} "
        f"unlabelled rows use {plan.n_known} of {n_known} known and {plan.n_new} of {n_new} new "
        "rows. Lower n_labeled or n_unlabeled, or pass n_test=0 for no test set."
    )


def _make_plan(
    n_known: int,
    n_new: int,
    n_labeled: Any,
    n_unlabeled: Any,
    n_test: Any,
    theta: Any,
    on_shortage: Any,
) -> _Plan:
    """Adapt the sizes to the available rows."""
    plan = _Plan(int(n_labeled), int(n_unlabeled), int(n_test or 0), float(theta))
    if on_shortage == "shrink":
        plan = _shrink(plan, n_known, n_new)
    elif not plan.fits(n_known, n_new):
        advice = (
            "Request fewer rows, change theta or hidden, or pass on_shortage='shrink' to scale "
            "down all parts."
        )
        raise _too_few(plan, n_known, n_new, advice)
    return plan if n_test is not None else _fill_test(plan, n_known, n_new)


def _check_sizes(
    n_labeled: Any, n_unlabeled: Any, n_test: Any, theta: Any, on_shortage: Any
) -> None:
    check_int("n_labeled", n_labeled, 1)
    check_int("n_unlabeled", n_unlabeled, 1)
    check_int("n_test", n_test, 0, none_allowed=True)
    check_share(theta)
    if on_shortage not in ("raise", "shrink"):
        raise ValueError(f"on_shortage must be 'raise' or 'shrink', got {on_shortage!r}")


def make_augmented_split(
    X: Any,
    y: Any,
    *,
    hidden: float | int | list[Any] | NDArray[Any] = 0.5,
    n_labeled: int = 500,
    n_unlabeled: int = 1000,
    n_test: int | None = None,
    theta: float = 0.5,
    on_shortage: Literal["raise", "shrink"] = "raise",
    random_state: int | np.random.RandomState | None = None,
) -> AugmentedSplit:
    """Hide some classes of a labelled table and draw the three parts of the paper's protocol.

    Labelled rows are random rows of the known classes. Exactly ``round(theta * n_unlabeled)`` of
    the unlabelled rows are random rows of hidden classes, and the others of known ones; likewise
    for test rows. No row is drawn twice. Rows are drawn without stratification, so a rare known
    class may be absent from the labelled rows.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The table.
    y : array-like of shape (n_rows,)
        Labels of all rows.
    hidden : float, int or list of labels, default=0.5
        A share of the classes, rounded down (half of 7 classes hides 3), a number of classes, or
        a list of classes. At least one class must be hidden and at least one known.
    n_labeled, n_unlabeled : int, default=500 and 1000
        Numbers of rows.
    n_test : int or None, default=None
        None means as many as remain at this `theta`, up to 1,000. 0 is allowed.
    theta : float, default=0.5
        Share of new rows among the unlabelled rows and among the test rows, in [0, 1].
    on_shortage : {"raise", "shrink"}, default="raise"
        What to do if the table has too few rows: raise a ValueError, or scale down `n_labeled`,
        `n_unlabeled` and `n_test` by a common factor that keeps `theta`.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of classes and rows.

    Returns
    -------
    AugmentedSplit

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lacforest.model_selection import make_augmented_split
    >>> X, y = load_digits(return_X_y=True)
    >>> split = make_augmented_split(
    ...     X, y, hidden=[0, 1, 2], n_labeled=400, n_unlabeled=500, theta=0.3, random_state=0
    ... )
    >>> split.X_unlabeled.shape, split.theta, len(split.test)
    ((500, 64), 0.3, 729)
    """
    _check_sizes(n_labeled, n_unlabeled, n_test, theta, on_shortage)
    X, y = indexable(X, y)
    classes, codes = two_or_more_classes(y)
    rng = check_random_state(random_state)
    is_hidden = _choose_hidden(classes, hidden, rng)
    labels = make_labels(classes[~is_hidden], "auto", has_unlabeled=True)
    is_new = is_hidden[codes]
    known, new = (rng.permutation(np.flatnonzero(rows)) for rows in (~is_new, is_new))
    plan = _make_plan(len(known), len(new), n_labeled, n_unlabeled, n_test, theta, on_shortage)
    n_known_unlabeled = plan.n_unlabeled - plan.n_new_unlabeled
    labeled, known_unlabeled, known_test = np.split(
        known[: plan.n_known], [plan.n_labeled, plan.n_labeled + n_known_unlabeled]
    )
    new_unlabeled, new_test = np.split(new[: plan.n_new], [plan.n_new_unlabeled])
    return AugmentedSplit(
        labeled=labeled,
        # Shuffled, so that no method can benefit from the order of rows.
        unlabeled=rng.permutation(np.concatenate([known_unlabeled, new_unlabeled])),
        test=rng.permutation(np.concatenate([known_test, new_test])),
        hidden=classes[is_hidden],
        known=classes[~is_hidden],
        new_label=labels.new_label,
        truth=rename(classes, codes, is_hidden, labels),
        X=X,
    )


@dataclass
class AugmentedClassSplit:
    """Repeated splits, each with its own choice of hidden classes and rows.

    Parameters
    ----------
    n_splits : int, default=10
        Number of splits.
    hidden, n_labeled, n_unlabeled, n_test, theta, on_shortage, random_state
        As in `make_augmented_split`. If `hidden` is a list, these classes are hidden in all splits.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lacforest.model_selection import AugmentedClassSplit
    >>> X, y = load_digits(return_X_y=True)
    >>> splitter = AugmentedClassSplit(2, n_labeled=300, n_unlabeled=400, random_state=0)
    >>> [(split.hidden.tolist(), split.theta) for split in splitter.split(X, y)]
    [([1, 2, 4, 8, 9], 0.5), ([0, 2, 5, 6, 8], 0.5)]
    """

    n_splits: int = 10
    _: KW_ONLY
    hidden: float | int | list[Any] | NDArray[Any] = 0.5
    n_labeled: int = 500
    n_unlabeled: int = 1000
    n_test: int | None = None
    theta: float = 0.5
    on_shortage: Literal["raise", "shrink"] = "raise"
    random_state: int | np.random.RandomState | None = None

    def __post_init__(self) -> None:
        check_int("n_splits", self.n_splits, 1)
        _check_sizes(self.n_labeled, self.n_unlabeled, self.n_test, self.theta, self.on_shortage)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of splits; the arguments exist for compatibility."""
        return self.n_splits

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[AugmentedSplit]:
        """Yield the splits one by one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The table.
        y : array-like of shape (n_rows,)
            Labels of all rows.
        groups : object
            Ignored; exists for compatibility.

        Yields
        ------
        AugmentedSplit
        """
        rng = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            yield make_augmented_split(
                X,
                y,
                hidden=self.hidden,
                n_labeled=self.n_labeled,
                n_unlabeled=self.n_unlabeled,
                n_test=self.n_test,
                theta=self.theta,
                on_shortage=self.on_shortage,
                random_state=rng,
            )

"""Folds for cross-validation of tables with labelled and unlabelled rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_random_state, indexable

from lacforest._input.labels import as_labels, check_labels, find_sentinel
from lacforest._input.parameters import check_int


@dataclass(eq=False)
class AugmentedKFold:
    """K folds of labelled and of unlabelled rows, for tables that contain both.

    Labelled rows are distributed over the folds class by class, and unlabelled rows separately.
    Each fold is tested once, by a classifier that is fitted on the labelled and unlabelled rows of
    all other folds. Splitters that ignore the mark may produce folds without unlabelled rows.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2 and at most the number of labelled and of unlabelled rows.
    unlabeled_label : object
        The label that marks unlabelled rows in y, as in the classifier.
    unlabeled : {"split", "keep"}, default="split"
        "split" holds out unlabelled rows for testing as well as labelled ones, which
        `make_augmented_scorer` requires. "keep" trains on all unlabelled rows in every fold and
        tests on labelled rows only, for scores of known classes.
    shuffle : bool, default=True
        Assign rows to folds at random instead of in order.
    random_state : int, RandomState instance or None, default=None
        Seed for `shuffle`.

    See Also
    --------
    make_augmented_scorer : Score folds without labels of the new class.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.model_selection import AugmentedKFold
    >>> y = np.array(["a", "a", "b", "b", "?", "?", "?", "?"])
    >>> folds = AugmentedKFold(2, unlabeled_label="?", random_state=0)
    >>> for train, test in folds.split(np.zeros((8, 1)), y):
    ...     print(y[train], y[test])
    ['a' 'b' '?' '?'] ['a' 'b' '?' '?']
    ['a' 'b' '?' '?'] ['a' 'b' '?' '?']
    """

    n_splits: int = 5
    _: KW_ONLY
    unlabeled_label: Any
    unlabeled: Literal["split", "keep"] = "split"
    shuffle: bool = True
    random_state: int | np.random.RandomState | None = None

    def __post_init__(self) -> None:
        check_int("n_splits", self.n_splits, 2)
        if self.unlabeled_label is None:
            raise ValueError(
                "unlabeled_label must not be None: name the label that marks unlabelled rows in y"
            )
        if self.unlabeled not in ("split", "keep"):
            raise ValueError(f'unlabeled must be "split" or "keep", got {self.unlabeled!r}')
        # Let scikit-learn check the remaining parameters now instead of in split.
        StratifiedKFold(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds; the arguments exist for compatibility."""
        return self.n_splits

    def split(
        self, X: Any, y: Any, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the row numbers of training and test rows, fold by fold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The table.
        y : array-like of shape (n_rows,)
            Known labels, and `unlabeled_label` for unlabelled rows.
        groups : object
            Ignored; exists for compatibility.

        Yields
        ------
        train, test : ndarray of int
            Row numbers, ascending.
        """
        X, y = indexable(X, y)
        labels = as_labels(y)
        is_unlabeled = find_sentinel(labels, self.unlabeled_label)
        labeled, unlabeled = np.flatnonzero(~is_unlabeled), np.flatnonzero(is_unlabeled)
        self._check_rows(len(labeled), len(unlabeled))
        seeds: tuple[Any, Any] = (None, None)
        if self.shuffle:
            rng = check_random_state(self.random_state)
            seeds = (rng.randint(2**31), rng.randint(2**31))
        classes = np.unique(check_labels(labels[labeled]), return_inverse=True)[1]
        by_class = StratifiedKFold(self.n_splits, shuffle=self.shuffle, random_state=seeds[0])
        at_random = KFold(self.n_splits, shuffle=self.shuffle, random_state=seeds[1])
        for (_, of_labeled), (_, of_unlabeled) in zip(
            by_class.split(labeled, classes), at_random.split(unlabeled), strict=True
        ):
            is_test = np.zeros(len(labels), dtype=bool)
            is_test[labeled[of_labeled]] = True
            if self.unlabeled == "split":
                is_test[unlabeled[of_unlabeled]] = True
            yield np.flatnonzero(~is_test), np.flatnonzero(is_test)

    def _check_rows(self, n_labeled: int, n_unlabeled: int) -> None:
        if n_unlabeled == 0:
            raise ValueError(
                f"no row of y is marked by unlabeled_label={self.unlabeled_label!r}: append "
                "unlabelled rows to the labelled ones, with that label in y"
            )
        if min(n_labeled, n_unlabeled) < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} folds need at least {self.n_splits} labelled and "
                f"{self.n_splits} unlabelled rows, but y has {n_labeled} and {n_unlabeled}: lower "
                "n_splits"
            )

"""NewClassGroups: rows that look new, in groups that may be classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from lacforest._input.labels import as_labels, check_labels
from lacforest._input.parameters import check_int
from lacforest._input.tables import TakesGapsAndSparse, check_same_columns
from lacforest._model.tree_view import check_names
from lacforest._utils.frames import column_names
from lacforest.discovery._description import ColumnSummary, Group, columns_apart
from lacforest.discovery._merging import WardTree, merge_groups, typical_gap
from lacforest.discovery._naming import NamedCentroids
from lacforest.discovery._promotion import (
    check_verified,
    labels_by_group,
    next_shares,
    plain_labels,
    sizes_by_label,
)
from lacforest.discovery._whitening import (
    as_dense,
    as_rows,
    canonical_order,
    check_distances,
    distances_to,
    find_whitening,
)

# Share of flagged rows that the tree is built of, the surest ones.
_SURE_SHARE = 0.75
# Fewest rows of a group where their number is found, as a share and as a count.
_LEAST_SHARE = 0.04
_FEWEST_ROWS = 8
_MOST_GROUPS = 10
# Ward's tree needs memory for all pairs of rows.
_MOST_ROWS = 4000
_SHOWN_ROWS = 5
# A row farther than this from a group, in reaches of the group, is none of its rows.
_REACH_QUANTILE = 0.99
_REACH_MARGIN = 1.1


class NewClassGroups(TakesGapsAndSparse, ClusterMixin, BaseEstimator):
    """Groups of rows that look new, by Ward's criterion in a space that known classes define.

    To a forest "new" is one class. Here rows that it called new are told apart: each column gets
    its ranks added, columns are combined so that known classes have about the same spread in all
    directions, and the surest rows are merged by Ward's criterion, with some steps of k-means after
    it. All other rows join the nearest group.

    Parameters
    ----------
    n_groups : int or "auto", default="auto"
        Number of groups. "auto" splits while groups are as far apart as known classes are, up to
        ten groups of at least 4 % of the rows. **The number that is found is a guess**: groups may
        be parts of one class. Look at `merge_tree_`, and give two groups one name in `promote`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Group of each row, an index into `group_names_`.
    group_names_ : list of str
        "new-1", "new-2" and so on, larger groups first. After `update`, groups of earlier batches
        keep their names.
    group_sizes_ : ndarray of shape (n_groups,)
    medoids_ : ndarray of shape (n_groups,)
        Position of the row nearest to the centre of each group.
    nearest_rows_ : list of ndarray
        Positions of the five rows nearest to each centre.
    center_distances_ : ndarray of shape (n_rows,)
        Distance of each row from the centre of its group.
    centroids_ : ndarray of shape (n_groups, n_features)
        In the whitened space.
    merge_tree_ : ndarray of shape (n_groups - 1, 4)
        In which order groups merge if there were fewer, in the format of
        `scipy.cluster.hierarchy.linkage`.
    gap_ : float
        Distance of centroids above which known classes are different ones.
    n_features_in_ : int

    Notes
    -----
    NaN is replaced by the median of labelled rows. Distances take codes of categories as numbers:
    where they have no order, use one-hot coding.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.discovery import NewClassGroups
    >>> rng = np.random.default_rng(0)
    >>> known = np.repeat([[0.0, 0.0], [9.0, 0.0]], 50, axis=0) + rng.normal(size=(100, 2))
    >>> flagged = np.repeat([[0.0, 9.0], [9.0, 9.0]], [60, 30], axis=0) + rng.normal(size=(90, 2))
    >>> groups = NewClassGroups().fit(flagged, X_labeled=known, y_labeled=np.repeat([0, 1], 50))
    >>> groups.group_sizes_
    array([60, 30])
    """

    _columns: list[str] | None = None  # names of columns; not in files

    def __init__(self, n_groups: int | Literal["auto"] = "auto") -> None:
        self.n_groups = n_groups

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        X_labeled: ArrayLike,
        y_labeled: ArrayLike,
        score: ArrayLike | None = None,
    ) -> Self:
        """Find the space from labelled rows, then the groups of flagged ones.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Rows that a classifier called new.
        y : ignored
        X_labeled : like X
            Labelled rows of known classes.
        y_labeled : array-like of shape (n_labeled,)
            Their labels.
        score : array-like of shape (n_rows,), optional
            Novelty scores; the tree is built of the three quarters of rows with the highest ones.

        Returns
        -------
        self
        """
        self._check_n_groups()
        rows, labeled = as_rows(X, "X"), as_rows(X_labeled, "X_labeled")
        self._columns = column_names(X)
        check_same_columns(labeled, X_labeled, "X_labeled", rows.shape[1], self._columns)
        labels = check_labels(as_labels(y_labeled, name="y_labeled"))
        known, codes = np.unique(labels, return_inverse=True)
        if len(codes) != len(labeled):
            raise ValueError(f"X_labeled has {len(labeled)} rows, but y_labeled {len(codes)}")
        self.n_features_in_ = rows.shape[1]
        self.known_classes_ = known
        self._names = self._columns or [f"feature_{i}" for i in range(rows.shape[1])]
        self._whitening = find_whitening(labeled, codes, rows)
        self._known_columns = ColumnSummary.of(labeled)
        sample = canonical_order(labeled)[:_MOST_ROWS]
        self.gap_ = typical_gap(
            self._whitening.apply(labeled[sample]), codes[sample], self._whitening.class_means
        )
        self._stored = NamedCentroids()
        return self._group(rows, score)

    def update(self, X: ArrayLike, score: ArrayLike | None = None) -> Self:
        """Group another batch in the same space; groups seen before keep their names.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Rows of the batch that a classifier called new.
        score : array-like of shape (n_rows,), optional
            As in `fit`.

        Returns
        -------
        self
        """
        return self._group(self._check(X), score)

    def _group(self, rows: NDArray[np.float64], score: ArrayLike | None) -> Self:
        mapped = self._whitening.apply(rows)
        check_distances(mapped, "X in units of the known classes")
        groups = self._find_groups(rows, mapped, score)
        order = np.argsort(-np.bincount(groups), kind="stable")
        self.labels_ = np.argsort(order)[groups]
        self.group_sizes_ = np.bincount(self.labels_)
        self.centroids_ = np.array(
            [mapped[self.labels_ == g].mean(axis=0) for g in range(len(order))]
        )
        self.center_distances_ = np.linalg.norm(mapped - self.centroids_[self.labels_], axis=1)
        self.nearest_rows_, reaches = [], np.empty(len(order))
        for g in range(len(order)):
            members = np.flatnonzero(self.labels_ == g)
            own = self.center_distances_[members]
            nearest = np.argsort(own, kind="stable")[:_SHOWN_ROWS]
            self.nearest_rows_.append(members[nearest])
            reaches[g] = np.quantile(own, _REACH_QUANTILE) * _REACH_MARGIN
        self.medoids_ = np.array([nearest[0] for nearest in self.nearest_rows_])
        self.merge_tree_ = merge_groups(self.centroids_, self.group_sizes_)
        self.group_names_ = self._stored.match(self.centroids_, reaches, self.gap_)
        self._rows = rows
        self._verified: dict[int, Any] = {}  # labels of rows of this batch
        return self

    def _find_groups(
        self, rows: NDArray[np.float64], mapped: NDArray[np.float64], score: ArrayLike | None
    ) -> NDArray[np.intp]:
        """Group of each row: by the tree for the surest rows, by the nearest centre for others."""
        from sklearn.cluster import KMeans  # slow to import

        n_rows = len(rows)
        if self.n_groups != "auto" and self.n_groups > n_rows:
            raise ValueError(f"n_groups={self.n_groups} groups cannot be made of {n_rows} rows")
        sure = np.ones(n_rows, dtype=bool)
        if score is not None:
            scores = np.asarray(score, dtype=np.float64)
            if scores.shape != (n_rows,) or np.isnan(scores).any():
                raise ValueError(f"score must have shape ({n_rows},) and no NaN")
            sure = scores >= np.quantile(scores, 1 - _SURE_SHARE)
        order = canonical_order(rows)
        chosen = order[sure[order]][:_MOST_ROWS]
        if self.n_groups != "auto" and len(chosen) < self.n_groups:
            chosen = order[:_MOST_ROWS]
        tree = WardTree.of(mapped[chosen])
        groups = np.full(n_rows, -1, dtype=np.intp)
        if self.n_groups == "auto":
            fewest = max(_FEWEST_ROWS, int(_LEAST_SHARE * len(chosen)))
            groups[chosen] = tree.split(self.gap_, fewest, _MOST_GROUPS)
        else:
            groups[chosen] = tree.cut(self.n_groups)
        centroids = np.array(
            [mapped[groups == g].mean(axis=0) for g in range(int(groups.max()) + 1)]
        )
        # A few steps of k-means correct rows that were merged early.
        means = KMeans(len(centroids), init=centroids, n_init=1).fit(mapped[chosen])
        # Unused numbers, where k-means emptied a group, are closed up.
        return np.unique(means.predict(mapped), return_inverse=True)[1]

    # ------------------------------------------------------------------ other rows

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """The nearest group of each row; -1 where the row is out of reach of every group.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
            Indices into `group_names_`.
        """
        checked = self._check(X)
        distances = distances_to(self._whitening.apply(checked), self.centroids_)
        nearest = distances.argmin(axis=1)
        places = [self._stored.names.index(name) for name in self.group_names_]
        reaches = np.array(self._stored.reaches)[places]
        within: NDArray[np.intp] = np.where(distances.min(axis=1) <= reaches[nearest], nearest, -1)
        return within

    def is_far(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Whether rows are out of reach of every group of this and earlier batches.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of bool of shape (n_rows,)
        """
        rows = self._check(X)  # before the space is looked for
        mapped = self._whitening.apply(rows)
        distances = distances_to(mapped, np.array(self._stored.centroids))
        far: NDArray[np.bool_] = np.all(distances > np.array(self._stored.reaches), axis=1)
        return far

    # ------------------------------------------------------------------ people

    def describe(
        self,
        n_columns: int = 3,
        feature_names: Sequence[str] | None = None,
        categories: Mapping[str, Sequence[str]] | None = None,
    ) -> list[Group]:
        """What is known about each group.

        Parameters
        ----------
        n_columns : int, default=3
            Columns that are named in each comparison.
        feature_names : list of str, optional
            Names of the columns; those of the frame that was fitted by default.
        categories : dict of str to list of str, optional
            For columns of text coded as 0, 1, 2 and so on: the texts. These are compared by shares.

        Returns
        -------
        list of Group
        """
        check_is_fitted(self)
        check_int("n_columns", n_columns, 1)
        self._check_has_rows()
        given = self._names if feature_names is None else feature_names
        names = check_names(given, self.n_features_in_, "feature_names", "feature_{}")
        how = names, n_columns, categories
        to_classes = distances_to(self.centroids_, self._whitening.class_means)
        found = []
        for g, name in enumerate(self.group_names_):
            inside = self.labels_ == g
            own, rest = (ColumnSummary.of(self._rows[side]) for side in (inside, ~inside))
            nearest = int(to_classes[g].argmin())
            found.append(
                Group(
                    name=name,
                    size=int(self.group_sizes_[g]),
                    medoid=int(self.medoids_[g]),
                    rows=tuple(self.nearest_rows_[g].tolist()),
                    nearest_class=self.known_classes_[nearest],
                    class_distance=float(to_classes[g, nearest]),
                    from_known=columns_apart(own, self._known_columns, *how),
                    from_groups=() if inside.all() else columns_apart(own, rest, *how),
                )
            )
        return found

    def promote(
        self, names: Mapping[str, Any], rows: Iterable[int], labels: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Rows that a person verified, with labels, for the next training set.

        The groups keep these labels as their names: where they come back in `update`, they are
        recognised.

        Parameters
        ----------
        names : dict of str to label
            Label of each group that was recognised. Two groups may have one label.
        rows : iterable of int
            Positions of verified rows in the latest batch. All of them must belong to these groups.
        labels : array-like of shape (n_verified,), optional
            Their labels, new or known. By default all have the label of their group.

        Returns
        -------
        X : ndarray of shape (n_verified, n_features)
        y : ndarray of shape (n_verified,)
        """
        check_is_fitted(self)
        self._check_has_rows()
        verified = check_verified(names, rows, self.group_names_, self.labels_)
        if labels is None:
            labels = [names[self.group_names_[group]] for group in self.labels_[verified]]
        found = plain_labels(labels, len(verified))
        self._stored.labels.update(names)
        self._verified.update(zip(verified.tolist(), found, strict=True))
        return self._rows[verified], np.array(found)

    def next_fit(self, forest: Any) -> dict[str, Any]:
        """Parameters of the next fit, for promoted classes to be called by their names.

        A class with few verified rows is frequent in deployment all the same. Without these shares
        the fit takes most of its rows for new. Where the verified rows of a group have several
        labels, its size is divided among these classes as its verified rows are.

        Parameters
        ----------
        forest : LACForestClassifier or LACExtraTreesClassifier
            Which called the rows of the latest batch new.

        Returns
        -------
        dict
            ``theta`` and ``known_shares``, for ``forest.set_params``.
        """
        check_is_fitted(self)
        self._check_has_rows()
        labels = labels_by_group(
            self._verified, self.group_names_, self.labels_, self._stored.labels
        )
        sizes = sizes_by_label(self.group_sizes_.tolist(), labels)
        if not sizes:
            raise ValueError("no group of the latest batch was promoted: call promote first")
        theta, known_shares = next_shares(forest, sizes, len(self.labels_))
        return {"theta": theta, "known_shares": known_shares}

    @property
    def promoted_(self) -> dict[str, Any]:
        """Labels of promoted groups by name."""
        check_is_fitted(self)
        return dict(self._stored.labels)

    def _check_has_rows(self) -> None:
        if not len(self._rows):
            raise ValueError("these groups come from a file without rows: call update first")

    def _check(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        rows = as_dense(X, "X")
        check_same_columns(rows, X, "the batch", self.n_features_in_, self._columns)
        return rows

    def _check_n_groups(self) -> None:
        if not (isinstance(self.n_groups, str) and self.n_groups == "auto"):
            check_int("n_groups", self.n_groups, 1)

"""Ward's tree over rows, and the places where it is cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage

# Cuts of labelled rows that are tried, as a multiple of the number of classes.
_MOST_CUTS = 3


@dataclass(frozen=True)
class WardTree:
    """Merges of rows by Ward's criterion.

    Attributes
    ----------
    merges : ndarray of shape (n_rows - 1, 4)
        As `scipy.cluster.hierarchy.linkage` returns them.
    """

    merges: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> WardTree:
        """Merge rows until one group is left."""
        return cls(linkage(rows, "ward") if len(rows) > 1 else np.zeros((0, 4)))

    @property
    def n_rows(self) -> int:
        """Rows at the leaves."""
        return len(self.merges) + 1

    def cut(self, n_groups: int) -> NDArray[np.intp]:
        """Group of each row, from 0, where the tree has so many groups."""
        if not len(self.merges):
            return np.zeros(1, dtype=np.intp)
        groups: NDArray[np.intp] = fcluster(self.merges, n_groups, "maxclust").astype(np.intp) - 1
        return groups

    def gaps(self) -> NDArray[np.float64]:
        """Distance between the centroids that each merge joins, last merge first."""
        sizes = np.concatenate([np.ones(self.n_rows), self.merges[:, 3]])
        left, right = (sizes[self.merges[:, side].astype(np.intp)] for side in (0, 1))
        found: NDArray[np.float64] = self.merges[:, 2] / np.sqrt(2 * left * right / (left + right))
        return found[::-1]

    def split(self, gap: float, fewest: int, most: int) -> NDArray[np.intp]:
        """Split from the top while centroids of halves are farther apart than `gap`.

        A half of fewer than `fewest` rows is left out if it is far from the other half.

        Returns
        -------
        ndarray of shape (n_rows,)
            Group of each row, -1 where it is left out.
        """
        groups = np.full(self.n_rows, -1, dtype=np.intp)
        if not len(self.merges):
            groups[:] = 0
            return groups
        gaps, sizes = self.gaps()[::-1], np.concatenate([np.ones(self.n_rows), self.merges[:, 3]])
        waiting, n_found = [self.n_rows + len(self.merges) - 1], 0
        while waiting:
            node = waiting.pop()
            while True:
                children = self._children(node)
                if children is None or gaps[node - self.n_rows] <= gap:
                    break
                small, large = sorted(children, key=lambda child: (sizes[child], child))
                if sizes[small] >= fewest:
                    break
                node = large
            children = self._children(node)
            is_far = children is not None and gaps[node - self.n_rows] > gap
            if is_far and children is not None and n_found + len(waiting) + 2 <= most:
                waiting += children
            else:
                groups[self._leaves(node)] = n_found
                n_found += 1
        return groups

    def _children(self, node: int) -> list[int] | None:
        if node < self.n_rows:
            return None
        return [int(child) for child in self.merges[node - self.n_rows, :2]]

    def _leaves(self, node: int) -> list[int]:
        leaves, waiting = [], [node]
        while waiting:
            children = self._children(node := waiting.pop())
            if children is None:
                leaves.append(node)
            else:
                waiting += children
        return leaves


def typical_gap(
    rows: NDArray[np.float64], codes: NDArray[np.intp], class_means: NDArray[np.float64]
) -> float:
    """Distance of centroids above which two groups of known rows are different classes.

    The mean of two guesses: where the tree of labelled rows has to be cut to give their classes,
    and the median distance of a class to the nearest other one.
    """
    from sklearn.metrics import adjusted_rand_score  # slow to import

    tree = WardTree.of(rows)
    gaps = tree.gaps()
    n_classes = len(class_means)
    if n_classes == 1 or len(gaps) < 2:
        return float(gaps[0]) if len(gaps) else 1.0
    numbers = range(2, min(_MOST_CUTS * n_classes, len(gaps)) + 1)
    best = max(numbers, key=lambda n: adjusted_rand_score(codes, tree.cut(n)))
    of_tree = float(np.sqrt(gaps[best - 1 if best - 1 < len(gaps) else best - 2] * gaps[best - 2]))
    distances = np.linalg.norm(class_means[:, None] - class_means[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    return (of_tree + float(np.median(distances.min(axis=1)))) / 2


def merge_groups(centroids: NDArray[np.float64], sizes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Ward's merges of groups of given sizes, in the format of scipy's `linkage`."""
    alive = {i: (centroids[i], int(sizes[i])) for i in range(len(sizes))}
    merges = []
    while len(alive) > 1:
        keys = list(alive)
        points = np.array([alive[key][0] for key in keys])
        counts = np.array([alive[key][1] for key in keys], dtype=np.float64)
        cost = 2 * counts[:, None] * counts / (counts[:, None] + counts)
        cost = cost * ((points[:, None] - points[None]) ** 2).sum(axis=2)
        cost[np.tril_indices(len(keys))] = np.inf
        first, second = divmod(int(cost.argmin()), len(keys))
        total = counts[first] + counts[second]
        centre = (counts[first] * points[first] + counts[second] * points[second]) / total
        merges.append((keys[first], keys[second], np.sqrt(cost[first, second]), total))
        del alive[keys[first]], alive[keys[second]]
        alive[len(sizes) + len(merges) - 1] = (centre, int(total))
    return np.array(merges, dtype=np.float64).reshape(-1, 4)

"""Names of groups that stay the same from batch to batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

_PREFIX = "new-"


@dataclass
class NamedCentroids:
    """Every group that was ever found: its name, its latest centroid and its reach.

    Groups that are absent from the latest batch stay here, so that a class that comes back gets its
    old name.

    Attributes
    ----------
    names : list of str
    centroids : list of ndarray
        In the whitened space.
    reaches : list of float
        Distance from the centroid within which nearly all rows of the group lie.
    labels : dict of str to object
        Labels of the groups that were promoted to known classes, by name.
    """

    names: list[str] = field(default_factory=list)
    centroids: list[NDArray[np.float64]] = field(default_factory=list)
    reaches: list[float] = field(default_factory=list)
    labels: dict[str, Any] = field(default_factory=dict)

    def match(
        self, centroids: NDArray[np.float64], reaches: NDArray[np.float64], gap: float
    ) -> list[str]:
        """Names of groups: of stored ones within `gap` of them, else new ones; all are stored.

        Each stored name is used at most once, so that the sum of distances is least.
        """
        found: dict[int, int] = {}
        if self.names:
            distances = np.linalg.norm(centroids[:, None] - np.array(self.centroids)[None], axis=2)
            # A pair that is too far apart costs more than any number of allowed pairs saves.
            cost = np.where(distances <= gap, distances, gap * (1 + len(centroids)))
            for group, stored in zip(*linear_sum_assignment(cost), strict=True):
                if distances[group, stored] <= gap:
                    found[int(group)] = int(stored)
        names = []
        for group, (centroid, reach) in enumerate(zip(centroids, reaches, strict=True)):
            place = found.get(group)
            if place is None:
                self.names.append(f"{_PREFIX}{len(self.names) + 1}")
                self.centroids.append(centroid)
                self.reaches.append(float(reach))
                place = len(self.names) - 1
            else:
                self.centroids[place], self.reaches[place] = centroid, float(reach)
            names.append(self.names[place])
        return names

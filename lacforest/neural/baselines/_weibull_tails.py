"""OpenMax: network outputs revised by the distance of a row from the mean of each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacforest._utils.weibull import fit_weibull

DISTANCES = ("euclidean", "eucos")
# libMR shifts the tail so that its smallest value is 1.
_SHIFT = 1.0
# Weight of the Euclidean distance beside the cosine distance in "eucos", as published.
_EUCLIDEAN_SHARE = 1.0 / 200.0


def distances(
    logits: NDArray[np.float64], means: NDArray[np.float64], distance: str
) -> NDArray[np.float64]:
    """Distance of each row of logits from each mean vector.

    Parameters
    ----------
    logits : float64 array of shape (n_rows, n_outputs)
    means : float64 array of shape (n_outputs, n_outputs)
    distance : {"euclidean", "eucos"}
    """
    differences = logits[:, None, :] - means[None, :, :]
    euclidean: NDArray[np.float64] = np.sqrt((differences**2).sum(axis=2))
    if distance == "euclidean":
        return euclidean
    lengths = np.linalg.norm(logits, axis=1)[:, None] * np.linalg.norm(means, axis=1)
    cosine = 1.0 - (logits @ means.T) / np.maximum(lengths, np.finfo(np.float64).tiny)
    found: NDArray[np.float64] = _EUCLIDEAN_SHARE * euclidean + cosine
    return found


@dataclass(frozen=True)
class WeibullTails:
    """Mean output of each class, and the law of large distances from it.

    Attributes
    ----------
    means : float64 array of shape (n_outputs, n_outputs)
        Mean logits of correctly classified rows, one line per class.
    least : float64 array of shape (n_outputs,)
        Smallest distance of the tail.
    shape, scale : float64 arrays of shape (n_outputs,)
        Weibull law of ``distance - least + 1`` in the tail.
    """

    means: NDArray[np.float64]
    least: NDArray[np.float64]
    shape: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(
        cls,
        logits: NDArray[np.float64],
        codes: NDArray[np.intp],
        tail_size: int,
        distance: str,
    ) -> WeibullTails:
        """Tails of correctly classified rows; of all rows of a class if none is.

        Parameters
        ----------
        logits : float64 array of shape (n_rows, n_outputs)
        codes : int array of shape (n_rows,)
        tail_size : int
            Largest distances of a class that the law is fitted to.
        distance : {"euclidean", "eucos"}
        """
        n_outputs = logits.shape[1]
        is_right = logits.argmax(axis=1) == codes
        means = np.zeros((n_outputs, n_outputs))
        least, shape, scale = (np.ones(n_outputs) for _ in range(3))
        for code in range(n_outputs):
            members = codes == code
            chosen = logits[members & is_right] if (members & is_right).any() else logits[members]
            if len(chosen) == 0:
                continue
            means[code] = chosen.mean(axis=0)
            found = np.sort(distances(chosen, means[code : code + 1], distance)[:, 0])
            tail = found[-tail_size:]
            least[code] = tail[0]
            shape[code : code + 1], scale[code : code + 1] = fit_weibull(
                (tail - tail[0] + _SHIFT)[None]
            )
        return cls(means, least, shape, scale)

    def outlier_shares(self, logits: NDArray[np.float64], distance: str) -> NDArray[np.float64]:
        """w_k: the probability that a member of class k is nearer to its mean than the row."""
        shifted = distances(logits, self.means, distance) - self.least + _SHIFT
        # A power beyond this range is 0 or 1 to the last digit.
        powers = np.clip(self.shape * np.log(np.maximum(shifted / self.scale, 1e-300)), -700, 700)
        shares: NDArray[np.float64] = -np.expm1(-np.exp(powers))
        return np.where(shifted > 0, shares, 0.0)

    def revise(self, logits: NDArray[np.float64], alpha: int, distance: str) -> NDArray[np.float64]:
        """Logits of "new" and of all classes: what is taken from the classes goes to "new".

        Parameters
        ----------
        logits : float64 array of shape (n_rows, n_outputs)
        alpha : int
            Highest outputs that are revised, the first fully and others less by rank.
        distance : {"euclidean", "eucos"}

        Returns
        -------
        float64 array of shape (n_rows, 1 + n_outputs)
        """
        n_outputs = logits.shape[1]
        alpha = min(alpha, n_outputs)
        rank = np.argsort(np.argsort(-logits, axis=1, kind="stable"), axis=1)
        by_rank = np.maximum(alpha - rank, 0) / alpha
        taken = logits * by_rank * self.outlier_shares(logits, distance)
        return np.column_stack([taken.sum(axis=1), logits - taken])

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """For files."""
        return {"means": self.means, "least": self.least, "shape": self.shape, "scale": self.scale}

    @classmethod
    def restore(cls, arrays: dict[str, NDArray[np.float64]], n_outputs: int) -> WeibullTails:
        """Check and read what `arrays` returned."""
        means = arrays["means"]
        vectors = [arrays[name] for name in ("least", "shape", "scale")]
        if means.shape != (n_outputs, n_outputs) or any(v.shape != (n_outputs,) for v in vectors):
            raise ValueError(f"Weibull tails do not belong to {n_outputs} outputs")
        if not all(np.isfinite(values).all() for values in (means, *vectors)):
            raise ValueError("Weibull tails are not finite")
        if (vectors[1] <= 0).any() or (vectors[2] <= 0).any():
            raise ValueError("Weibull tails need a positive shape and scale")
        return cls(means, *vectors)

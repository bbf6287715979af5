"""The unlabelled rows of a fit, as far as a model file needs to recognise a table of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lacforest._input.row_fingerprints import row_fingerprints
from lacforest._model.container import ModelFileError
from lacforest._model.values import decode_array, encode_array

# Fingerprints that are kept, 8 bytes each.
_MOST_MARKS = 512
# A table is told apart from others if it has this much larger a share of rows of the fit than
# chance gives.
_NOTED_SHARE = 0.1


@dataclass(frozen=True)
class FittedRows:
    """The smallest fingerprints of rows, which tell about all rows with small fingerprints.

    Attributes
    ----------
    marks : ndarray of uint64
        In ascending order, each once.
    is_whole : bool
        Whether these are all of them.
    coincidence : float
        Share of labelled rows that equal one of the rows: what chance alone gives.
    """

    marks: NDArray[np.uint64]
    is_whole: bool
    coincidence: float

    @classmethod
    def of(cls, X_unlabeled: NDArray[np.float64], X: NDArray[np.float64]) -> Self:
        """Keep what is needed of the unlabelled rows, beside the labelled rows `X`."""
        every = np.unique(row_fingerprints(X_unlabeled))
        coincidence = float(np.isin(row_fingerprints(X), every).mean())
        return cls(every[:_MOST_MARKS], len(every) <= _MOST_MARKS, coincidence)

    def compare(self, X: NDArray[np.float64]) -> NDArray[np.intp]:
        """How many rows of X can be compared, and how many of these took part in the fit."""
        rows = row_fingerprints(X)
        if not self.is_whole:
            rows = rows[rows <= self.marks[-1]]
        return np.array([len(rows), np.isin(rows, self.marks).sum()])

    def note(self, compared: NDArray[np.intp]) -> str | None:
        """What a user must know about a table, by the sums of `compare` over its parts."""
        n_compared, n_found = compared.tolist()
        share = n_found / max(1, n_compared)
        if share <= self.coincidence + _NOTED_SHARE:
            return None
        about = "" if self.is_whole else "about "
        return (
            f"{about}{share:.0%} of the rows are unlabelled rows of the fit, which helped to grow "
            "the trees that score them here: they look more clearly new or known than later rows "
            "will. A model of fit --calibrate scores them by fits without them"
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        stored = {"marks": encode_array(self.marks), "is_whole": self.is_whole}
        return stored | {"coincidence": self.coincidence}

    @classmethod
    def from_dict(cls, stored: Any) -> Self:
        """What `to_dict` returned; raises ModelFileError where the content is invalid."""
        if not isinstance(stored, dict):
            raise ModelFileError("its fitted rows are not a JSON object")
        marks = decode_array(stored.get("marks"), "marks of fitted rows", np.uint64)
        is_whole, coincidence = stored.get("is_whole"), stored.get("coincidence")
        if not len(marks) or (marks[1:] <= marks[:-1]).any():
            raise ModelFileError("the marks of fitted rows are not in ascending order")
        if not isinstance(is_whole, bool):
            raise ModelFileError("it does not say whether its marks of fitted rows are all of them")
        if not isinstance(coincidence, int | float) or not 0 <= coincidence <= 1:
            raise ModelFileError("its fitted rows have no valid coincidence")
        return cls(marks, is_whole, float(coincidence))

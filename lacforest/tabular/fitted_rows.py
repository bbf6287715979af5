"""The unlabelled rows of a fit, as far as a model file needs to recognise a table of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lacforest._input.row_fingerprints import row_fingerprints
from lacforest._model.container import ModelFileError
from lacforest._model.values import decode_array, encode_array

# Fingerprints that are kept, 8 bytes each.
_MOST_MARKS = 512
# Labelled rows, each once, by which coincidences are counted; 16 bytes each while a fit lasts.
_MOST_LABELED = 4096
# A table is told apart from others if it has this much larger a share of rows of the fit than
# chance gives.
_NOTED_SHARE = 0.1


def _nothing() -> NDArray[Any]:
    return np.empty(0, dtype=np.uint64)


@dataclass(frozen=True)
class LabeledSketch:
    """The labelled rows of the smallest fingerprints, of a table or of some of its pieces.

    Sketches of pieces merge into that of the table, however it is divided.

    Attributes
    ----------
    words : ndarray of uint64
        Fingerprints in ascending order, each once.
    counts : ndarray of int
        Rows that have them.
    """

    words: NDArray[np.uint64] = field(default_factory=_nothing)
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @classmethod
    def of(cls, X: NDArray[np.float64]) -> Self:
        """The sketch of one piece."""
        words, counts = np.unique(row_fingerprints(X), return_counts=True)
        return cls(words[:_MOST_LABELED], counts[:_MOST_LABELED])

    def merge(self, other: Self) -> Self:
        """The sketch of both pieces together."""
        both = np.concatenate([self.words, other.words])
        words, place = np.unique(both, return_inverse=True)
        counts = np.zeros(len(words), dtype=np.int64)
        np.add.at(counts, place, np.concatenate([self.counts, other.counts]))
        return type(self)(words[:_MOST_LABELED], counts[:_MOST_LABELED])


@dataclass(frozen=True)
class UnlabeledSketch:
    """The smallest fingerprints of unlabelled rows, and the labelled rows that equal any of these.

    Attributes
    ----------
    marks : ndarray of uint64
        In ascending order, each once, and one more than a model keeps if there are so many.
    met : ndarray of uint64
        Words of the sketch of labelled rows that an unlabelled row has, in ascending order.
    """

    marks: NDArray[np.uint64] = field(default_factory=_nothing)
    met: NDArray[np.uint64] = field(default_factory=_nothing)

    @classmethod
    def of(cls, X_unlabeled: NDArray[np.float64], labeled: LabeledSketch) -> Self:
        """The sketch of one piece."""
        every = np.unique(row_fingerprints(X_unlabeled))
        return cls(every[: _MOST_MARKS + 1], np.intersect1d(labeled.words, every))

    def merge(self, other: Self) -> Self:
        """The sketch of both pieces together, beside the same labelled rows."""
        every = np.union1d(self.marks, other.marks)
        return type(self)(every[: _MOST_MARKS + 1], np.union1d(self.met, other.met))


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
        Share of labelled rows that equal one of the rows, counted by at most 4096 of them: what
        chance alone gives.
    """

    marks: NDArray[np.uint64]
    is_whole: bool
    coincidence: float

    @classmethod
    def of(cls, X_unlabeled: NDArray[np.float64], X: NDArray[np.float64]) -> Self:
        """Keep what is needed of the unlabelled rows, beside the labelled rows `X`."""
        labeled = LabeledSketch.of(X)
        return cls.of_sketches(labeled, UnlabeledSketch.of(X_unlabeled, labeled))

    @classmethod
    def of_sketches(cls, labeled: LabeledSketch, unlabeled: UnlabeledSketch) -> Self:
        """Keep what is needed of tables that were read in pieces."""
        coincidence = float(
            np.average(np.isin(labeled.words, unlabeled.met), weights=labeled.counts)
        )
        is_whole = len(unlabeled.marks) <= _MOST_MARKS
        return cls(unlabeled.marks[:_MOST_MARKS], is_whole, coincidence)

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

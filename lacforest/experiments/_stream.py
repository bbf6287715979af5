"""A stream of daily batches, in which classes appear, get a name, leave and come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest.discovery import NewClassGroups
from lacforest.ensemble import LACExtraTreesClassifier
from lacforest.experiments._life import Measured, take_by_class
from lacforest.experiments._nearest_ensemble import NearestNeighborEnsemble

DATASETS = "optdigits,pendigits,texture"
POINTS = ("days",)
BUFFERS = "buffers"
N_DAYS, N_BATCH, N_LABELED, N_KNOWN = 12, 250, 400, 8
# One hidden class is there from the first day on, another one only on these days.
HIDDEN_SHARE = 0.15
DAYS_OF_RETURNING = (3, 4, 5, 9, 10, 11)
# What a person does in a day, if so many rows of a group are called new.
N_VERIFIED, FEWEST_ROWS = 20, 20
# Share of the rows of a batch that a fit uses, by its age in days.
SHARE_BY_AGE = (1.0, 0.5, 0.25)
# The setting of SENNE's published program: rows of each of two known classes and of the new one.
N_TRAINED, N_STREAMED, N_BUFFER = 2000, 500, 300

# Takes positions in the batch and returns true labels.
Person = Callable[[NDArray[np.intp]], NDArray[Any]]


@dataclass(frozen=True)
class Stream:
    """Rows of a stream, as positions in a table.

    Attributes
    ----------
    labeled : ndarray
    batches : list of ndarray
        By day. The first one is for the first fit.
    steady, returning : int
        The hidden classes.
    """

    labeled: NDArray[np.intp]
    batches: list[NDArray[np.intp]]
    steady: Any
    returning: Any


def draw_stream(y: NDArray[Any], rng: np.random.Generator) -> Stream:
    """Known classes, every other one of which gets more frequent, and two hidden ones."""
    values = rng.permutation(np.unique(y)).tolist()
    steady, returning, *known = values[: N_KNOWN + 2]
    pools = {value: rng.permutation(np.flatnonzero(y == value)) for value in values}
    labeled = take_by_class(rng, pools, dict.fromkeys(known, 1.0), N_LABELED)
    batches = []
    for day in range(N_DAYS):
        weights = {
            value: 1.0 + (day / (N_DAYS - 1) if place % 2 else 0.0)
            for place, value in enumerate(known)
        }
        hidden = [steady, returning] if day in DAYS_OF_RETURNING else [steady]
        total = sum(weights.values())
        share_known = 1.0 - HIDDEN_SHARE * len(hidden)
        shares = {value: share_known * weight / total for value, weight in weights.items()}
        batches.append(
            take_by_class(rng, pools, shares | dict.fromkeys(hidden, HIDDEN_SHARE), N_BATCH)
        )
    return Stream(labeled, batches, steady, returning)


class Frozen:
    """The forest of the first day.

    Parameters
    ----------
    X, y : ndarray
        Labelled rows.
    seed : int
    """

    def __init__(self, X: NDArray[np.float64], y: NDArray[Any], seed: int) -> None:
        self.X, self.y = X, y
        self.forest = LACExtraTreesClassifier(random_state=seed)
        self.n_asked = 0

    def learn(self, batch: NDArray[np.float64], ask: Person) -> None:
        """What is done at the end of a day."""
        if not hasattr(self.forest, "classes_"):
            self.forest.fit(self.X, self.y, X_unlabeled=batch)

    def predict(self, batch: NDArray[np.float64]) -> NDArray[Any]:
        predicted: NDArray[Any] = self.forest.predict(batch)
        return predicted


class Adapted(Frozen):
    """The trees of the first day with the shares of the latest batch."""

    def learn(self, batch: NDArray[np.float64], ask: Person) -> None:
        super().learn(batch, ask)
        self.forest = self.forest.adapt(batch)


class Refitted(Frozen):
    """A forest that is fitted every day, on the first labelled rows and the latest batch."""

    def learn(self, batch: NDArray[np.float64], ask: Person) -> None:
        self.forest.fit(self.X, self.y, X_unlabeled=batch)


class Loop(Frozen):
    """Fit on a window, group what is called new, let a person name a group, fit again.

    Rows of earlier batches count less: half of those of the day before, a quarter of the day
    before that.
    """

    def __init__(self, X: NDArray[np.float64], y: NDArray[Any], seed: int) -> None:
        super().__init__(X, y, seed)
        self.groups: NewClassGroups | None = None
        self.window: list[NDArray[np.float64]] = []

    def learn(self, batch: NDArray[np.float64], ask: Person) -> None:
        self.window = [batch, *self.window][: len(SHARE_BY_AGE)]
        unlabeled = np.concatenate(
            [
                rows[: round(share * len(rows))]
                for rows, share in zip(self.window, SHARE_BY_AGE, strict=False)
            ]
        )
        self.forest.set_params(theta="auto", known_shares="auto")
        self.forest.fit(self.X, self.y, X_unlabeled=unlabeled)
        flagged = np.flatnonzero(self.forest.predict(batch) == self.forest.new_label_)
        if len(flagged) < FEWEST_ROWS:
            return
        groups = self._group(batch[flagged])
        if self._name_largest_group(groups, batch, flagged, ask):
            self.forest.set_params(**groups.next_fit(self.forest))
            self.forest.fit(self.X, self.y, X_unlabeled=unlabeled)

    def _group(self, rows: NDArray[np.float64]) -> NewClassGroups:
        score = self.forest.novelty_score(rows)
        if self.groups is None:
            self.groups = NewClassGroups().fit(
                rows, X_labeled=self.X, y_labeled=self.y, score=score
            )
        else:
            self.groups.update(rows, score)
        return self.groups

    def _name_largest_group(
        self,
        groups: NewClassGroups,
        batch: NDArray[np.float64],
        flagged: NDArray[np.intp],
        ask: Person,
    ) -> bool:
        """Let a person label the rows nearest to the centre of the largest group."""
        if groups.group_sizes_[0] < FEWEST_ROWS:
            return False
        members = np.flatnonzero(groups.labels_ == 0)
        order = np.argsort(groups.center_distances_[members], kind="stable")
        seen = members[order][:N_VERIFIED]
        labels = ask(flagged[seen])
        self.n_asked += len(seen)
        names, counts = np.unique(labels, return_counts=True)
        name = names[counts.argmax()]
        X_more, y_more = groups.promote({groups.group_names_[0]: name}, seen, labels)
        self.X, self.y = np.concatenate([self.X, X_more]), np.concatenate([self.y, y_more])
        return True


STRATEGIES: dict[str, type[Frozen]] = {
    "frozen": Frozen,
    "adapt": Adapted,
    "refit": Refitted,
    "loop": Loop,
}


def measure_stream(
    X: NDArray[np.float64], y: NDArray[Any], point: str, rng: np.random.Generator
) -> Measured:
    """All strategies on one stream."""
    if point == BUFFERS:
        return _measure_buffers(X, y, rng)
    if point not in POINTS:
        raise ValueError(f"there is no point {point!r}: choose from {', '.join(POINTS)}, {BUFFERS}")
    stream = draw_stream(y, rng)
    seed = int(rng.integers(2**31))
    measured: Measured = {}
    for name, make in STRATEGIES.items():
        strategy = make(X[stream.labeled], y[stream.labeled], seed)
        found: dict[str, float] = {}
        for day, rows in enumerate(stream.batches):
            if day > 0:
                found |= _judge(strategy, X, y, rows, stream, f"arrival {day}")
            strategy.learn(X[rows], y[rows].__getitem__)
            found |= _judge(strategy, X, y, rows, stream, f"evening {day}")
        measured[name] = found | _means(found) | {"asked": float(strategy.n_asked)}
    return measured


def _judge(
    strategy: Frozen,
    X: NDArray[np.float64],
    y: NDArray[Any],
    rows: NDArray[np.intp],
    stream: Stream,
    when: str,
) -> dict[str, float]:
    """A row of a hidden class is right if it is called new, or by its own name."""
    predicted, truth = strategy.predict(X[rows]), y[rows]
    is_new = predicted == strategy.forest.new_label_
    is_named = predicted == truth
    hidden = np.isin(truth, [stream.steady, stream.returning])
    found = {
        f"accuracy, {when}": float((is_named | (hidden & is_new)).mean()),
        f"named, {when}": float(is_named[hidden].mean()),
    }
    own = truth == stream.returning
    if own.any():
        found[f"returning named, {when}"] = float(is_named[own].mean())
        found[f"returning new, {when}"] = float(is_new[own].mean())
    return found


def _means(found: dict[str, float]) -> dict[str, float]:
    """Means over the days after the first."""
    means = {}
    for measure in ("accuracy", "named"):
        for when in ("arrival", "evening"):
            values = [found[f"{measure}, {when} {day}"] for day in range(1, N_DAYS)]
            means[f"{measure} {when}"] = float(np.mean(values))
    return means


def _measure_buffers(X: NDArray[np.float64], y: NDArray[Any], rng: np.random.Generator) -> Measured:
    """Two known classes and a new one in random order: the setting of SENNE's program.

    Every buffer of rows is the unlabelled sample of a fit. "arrival" is the accuracy of the forest
    of the buffer before, from the second buffer on. The ensemble of nearest neighbours needs no
    buffer; its threshold is the one that is best on this stream.
    """
    first, second, new = rng.permutation(np.unique(y))[:3].tolist()
    labeled, streamed = [], []
    for value in (first, second, new):
        rows = rng.permutation(np.flatnonzero(y == value))
        # A fifth of a smaller class.
        n_streamed = min(N_STREAMED, len(rows) // 5)
        streamed.append(rows[:n_streamed])
        if value != new:
            labeled.append(rows[n_streamed : n_streamed + N_TRAINED])
    trained, stream = np.concatenate(labeled), rng.permutation(np.concatenate(streamed))
    seed = int(rng.integers(2**31))
    forest = LACExtraTreesClassifier(random_state=seed)
    before, after = [], []
    for start in range(0, len(stream), N_BUFFER):
        rows = stream[start : start + N_BUFFER]
        truth = np.where(y[rows] == new, -1, y[rows])
        if start:
            before.append(_called(forest, X[rows]) == truth)
        forest.fit(X[trained], y[trained], X_unlabeled=X[rows])
        after.append(_called(forest, X[rows]) == truth)
    rival = NearestNeighborEnsemble(random_state=seed).fit(X[trained], y[trained])
    return {
        "lacextratrees": {
            "accuracy arrival": float(np.concatenate(before).mean()),
            "accuracy evening": float(np.concatenate(after).mean()),
        },
        "nearest neighbours": {
            "accuracy arrival": rival.best_accuracy(X[stream], y[stream], new),
        },
    }


def _called(forest: LACExtraTreesClassifier, rows: NDArray[np.float64]) -> NDArray[Any]:
    """Predicted classes, -1 for new."""
    predicted = forest.predict(rows)
    called: NDArray[Any] = np.where(predicted == forest.new_label_, -1, predicted)
    return called

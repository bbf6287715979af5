"""What a set of trees is to be grown by: seeds, shape, sample of rows, plan."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from lacforest._input.parameters import check_max_features, is_int
from lacforest._input.training_data import RowTotals
from lacforest._tree.criterion import AugmentedGiniCriterion, GiniCriterion
from lacforest._tree.growth import TreeLimits
from lacforest._tree.row_hash import bootstrap_rows, sample_rows

if TYPE_CHECKING:
    from lacforest._growing.run import CollectedTrees


# Most unlabelled rows of a tree per labelled row, as in the paper's experiments: with many more,
# most leaves hold no labelled row, and drawn labels outnumber true ones.
_UNLABELED_PER_LABELED = 2.0
# Most labelled rows of a tree of Step II: per known row among the unlabelled ones, but no fewer
# than so many per known class. docs/extra-trees.rst has the measurements.
_LABELED_PER_KNOWN = 2.0
_LABELED_PER_CLASS = 30
# Clamp unbounded ints to a number of rows that no node has.
_MOST_ROWS = 2**53
# Rows per category below which a node cuts off one category at a time: docs/guide/categories.rst
# has the measurements.
_ROWS_PER_CATEGORY = 4


def floor_with_tolerance(value: float) -> int:
    """Largest integer not above value, where a hair below an integer counts as that integer.

    ``0.29 * 100`` is 28.999999999999996 in binary; the paper's floor(0.29 * 100) is 29.
    """
    nearest = round(value)
    # A few units in the last place: what the rounding of a share and of one product can do.
    is_integer = abs(value - nearest) <= 8 * sys.float_info.epsilon * abs(value)
    return nearest if is_integer else math.floor(value)


def ceil_with_tolerance(value: float) -> int:
    """Smallest integer not below value, where a hair above an integer counts as that integer."""
    return -floor_with_tolerance(-value)


def pseudo_label_cap(
    labeled_rows: float, theta: float, upper: float, multiple: float | None
) -> int | None:
    """Most pseudo-labelled rows of a tree: at least 1, None is no limit.

    With a multiple of 1, a tree sees known and new rows in the proportion of the unlabelled rows if
    `upper`, the largest plausible theta, is true; but no fewer than the pseudo-labelled rows among
    as many unlabelled ones as other trees take.
    """
    if multiple is None or upper >= 1.0:
        return None
    per_labeled = max(upper / (1.0 - upper), _UNLABELED_PER_LABELED * theta)
    return max(1, floor_with_tolerance(multiple * labeled_rows * per_labeled))


def unlabeled_cap(labeled_rows: float, multiple: float | None) -> int | None:
    """Most unlabelled rows of a tree that is not grown on pseudo-labels: a multiple of 2 n_l.

    The same `multiple` as in `pseudo_label_cap`; None is no limit.
    """
    if multiple is None:
        return None
    return max(1, floor_with_tolerance(multiple * _UNLABELED_PER_LABELED * labeled_rows))


def labeled_cap(totals: RowTotals, rate: float, lower: float, multiple: float | None) -> int | None:
    """Most labelled rows of a tree of Step II; None is no limit.

    Twice as many as there are known rows among the unlabelled ones if `lower`, the least plausible
    theta, is true: with far more known rows per new one than in deployment, new ones are missed.
    But no fewer than it takes to tell the known classes apart. A row of weight w counts as w rows.
    Of `multiple`, the parameter `pseudo_cap`, only whether there is one matters: to take more
    pseudo-labelled rows is no reason to take more labelled ones.
    """
    if multiple is None:
        return None
    n_comparable = _LABELED_PER_KNOWN * (1.0 - lower) * totals.n_unlabeled * rate
    n_rows = max(n_comparable, _LABELED_PER_CLASS * totals.n_known)
    mean_weight = totals.labeled_rows / totals.n_labeled
    return ceil_with_tolerance(n_rows / mean_weight)


def n_pseudo_labels(n_unlabeled: int, theta: float) -> int:
    """How many of the unlabelled rows get a pseudo-label: floor(theta * n_u)."""
    return floor_with_tolerance(theta * n_unlabeled)


def pseudo_labels(scores: NDArray[np.float64], theta: float) -> NDArray[np.bool_]:
    """Mark the floor(theta * n_u) rows with the highest scores; ties go to the earlier row."""
    chosen = np.zeros(len(scores), dtype=bool)
    n_marked = n_pseudo_labels(len(scores), theta)
    chosen[np.argsort(-scores, kind="stable")[:n_marked]] = True
    return chosen


@dataclass(frozen=True)
class RowSample:
    """How many times a tree takes each row, by a hash of the row number and the tree's seed.

    Labelled and unlabelled rows are numbered and drawn apart. Whether a row is taken depends on
    its number, the seed and the chances alone; `lacforest/_tree/sampling.pxd` defines the hash.

    Attributes
    ----------
    rate : float
        Rows of a tree per row of the table, on average.
    chances : float64 array
        Chance to take a row at most 0, 1, ... times.
    """

    rate: float
    chances: NDArray[np.float64]

    @classmethod
    def of(
        cls, max_samples: float | None, n_rows: int, bootstrap: bool = False
    ) -> RowSample | None:
        """The sample that parameters of a forest ask for; None takes every row, or bootstraps.

        Without bootstrap a row is taken once or not at all. With it, the number of times follows
        the Poisson distribution, which sampling with replacement tends to.
        """
        if max_samples is None:
            return None
        rate = min(1.0, max_samples / n_rows) if is_int(max_samples) else float(max_samples)
        return cls(rate, _poisson_chances(rate) if bootstrap else np.array([1.0 - rate]))

    def unlabeled_rows(self, n_unlabeled: int, seed: int) -> NDArray[np.int64]:
        """Numbers of the unlabelled rows that the tree of this seed takes, each of them once."""
        complement = seed ^ (2**64 - 1)
        return np.unique(sample_rows(0, n_unlabeled, complement, self.chances))


def _poisson_chances(mean: float) -> NDArray[np.float64]:
    chances = []
    term = total = math.exp(-mean)
    while total < 1.0 - 2.0**-53 and term > 0.0:
        chances.append(total)
        term *= mean / len(chances)
        total += term
    return np.array(chances)


def draw_entropy(random_state: Any) -> NDArray[np.uint32]:
    """The only draw of a fit from `random_state`: all seeds derive from these words."""
    words: NDArray[np.uint32] = check_random_state(random_state).randint(
        0, 2**32, size=4, dtype=np.uint32
    )
    return words


@dataclass(frozen=True)
class ForestSeeds:
    """One stream of draws per tree and purpose, so that a tree depends on its index alone.

    Attributes
    ----------
    explore, refine : uint64 arrays, one seed per tree
        Feature draws and random cuts of the two steps.
    sample : uint64 array or None
        Samples of rows: of trees that both steps grow, or of Step I. None takes every row once.
    fresh_sample : uint64 array or None
        Samples of trees that Step II grows afresh.
    label : uint64 array
        Labels drawn for unlabelled rows; empty where none are drawn.
    """

    explore: NDArray[np.uint64]
    refine: NDArray[np.uint64]
    sample: NDArray[np.uint64] | None = None
    label: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    fresh_sample: NDArray[np.uint64] | None = None

    @classmethod
    def of_deepened_trees(cls, entropy: NDArray[np.uint32], n_trees: int, samples: bool) -> Self:
        """Seeds of trees that both steps grow."""
        words = np.random.SeedSequence(entropy.tolist()).generate_state(3 * n_trees, np.uint64)
        sample, explore, refine = np.ascontiguousarray(words.reshape(n_trees, 3).T)
        return cls(explore, refine, sample if samples else None)

    @classmethod
    def of_fresh_trees(
        cls, entropy: NDArray[np.uint32], n_explorers: int, n_trees: int, samples: bool = False
    ) -> Self:
        """Seeds of forests whose second step grows trees of its own."""
        counts = (n_explorers, n_trees, n_trees, n_explorers, n_trees)
        sequences = np.random.SeedSequence(entropy.tolist()).spawn(len(counts))
        explore, refine, label, sample, fresh = (
            sequence.generate_state(count, np.uint64).astype(np.uint64)
            for sequence, count in zip(sequences, counts, strict=True)
        )
        if not samples:
            return cls(explore, refine, label=label)
        return cls(explore, refine, sample, label, fresh)

    def of_refined_explorers(self) -> NDArray[np.uint64]:
        """Seeds of Step II where it deepens the trees of Step I, of which there may be more."""
        words = np.random.SeedSequence(self.refine.tolist()).generate_state(
            len(self.explore), np.uint64
        )
        return words.astype(np.uint64)


@dataclass(frozen=True)
class TreeShape:
    """How far one step may grow a tree.

    Attributes
    ----------
    max_features : int
        Features drawn per node.
    max_depth : int or None
    min_samples_split, min_samples_leaf : int
    draws_on : bool
        Whether a node draws more than `max_features` until one feature can split it.
    gamma : float or None
        Shares of all labelled and of all unlabelled rows that each child keeps (Eqns 5 and 6).
    """

    max_features: int
    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    draws_on: bool
    gamma: float | None = None

    @classmethod
    def of(cls, forest: Any, n_features: int) -> Self:
        """The shape that the parameters of a forest give to Step II."""
        return cls(
            max_features=check_max_features(forest.max_features, n_features),
            max_depth=forest.max_depth,
            min_samples_split=int(forest.min_samples_split),
            min_samples_leaf=int(forest.min_samples_leaf),
            draws_on=True,
        )

    def limits(
        self, totals: RowTotals, rate: float = 1.0, max_unlabeled: int | None = None
    ) -> TreeLimits:
        """The same as counts of rows, for the compiled core.

        Shares by gamma are shares of the rows of a tree: `rate` times those of the table, and no
        more than `max_unlabeled` unlabelled ones.
        """
        unit = totals.weight_unit
        min_labeled = min_unlabeled = 0.0
        if self.gamma is not None:
            min_labeled = ceil_with_tolerance(self.gamma * totals.labeled_size * rate)
            if not totals.has_whole_weights:
                # Sums of weights are rounded: an empty side may come out slightly below zero.
                min_labeled = (self.gamma - 1e-12) * totals.labeled_size * rate
            n_unlabeled = totals.n_unlabeled * rate
            if max_unlabeled is not None:
                n_unlabeled = min(n_unlabeled, max_unlabeled)
            min_unlabeled = ceil_with_tolerance(self.gamma * n_unlabeled)
        return TreeLimits(
            max_features=self.max_features,
            min_leaf=min(self.min_samples_leaf, _MOST_ROWS) * unit,
            min_split=min(self.min_samples_split, _MOST_ROWS) * unit,
            min_labeled=min_labeled,
            min_unlabeled=min_unlabeled,
            rows_per_category=_ROWS_PER_CATEGORY * unit,
            max_depth=self.max_depth,
            draw_until_feasible=self.draws_on,
        )


@dataclass(frozen=True)
class DrawnLabels:
    """Labels of unlabelled rows that every tree draws for itself.

    Attributes
    ----------
    soft : column of SoftLabels
        Shares of classes in the unlabelled rows, as `TreeGrower.soften` returned them.
    seeds : uint64 array of shape (n_trees,)
    """

    soft: Any
    seeds: NDArray[np.uint64]


@dataclass(frozen=True)
class TreePlan:
    """How one step grows a set of trees.

    Attributes
    ----------
    criterion : AugmentedGiniCriterion or GiniCriterion
    shape : TreeShape
    seeds : uint64 array of shape (n_trees,)
    random_cuts : bool
        Whether a drawn feature has one random cut as its candidate, or all cuts.
    takes_part : column of bool or None
        Unlabelled rows that count, as `TreeGrower.mark` returned them; None takes all of them.
        Labelled rows always count.
    max_labeled, max_unlabeled : int or None
        Most rows of a kind in a tree, which draws them from those that count; None takes all.
    sample_seeds : uint64 array of shape (n_trees,) or None
        Seeds of samples; None takes every row once.
    sample : RowSample or None
        How trees with a sample seed take rows; None draws as many as there are, with replacement.
    drawn : DrawnLabels or None
        Labels of unlabelled rows that every tree draws; None takes those of the training rows.
    explored : CollectedTrees or None
        Trees of Step I to grow on from; None starts at roots.
    """

    criterion: AugmentedGiniCriterion | GiniCriterion
    shape: TreeShape
    seeds: NDArray[np.uint64]
    random_cuts: bool = False
    takes_part: Any = None
    max_labeled: int | None = None
    max_unlabeled: int | None = None
    sample_seeds: NDArray[np.uint64] | None = None
    sample: RowSample | None = None
    drawn: DrawnLabels | None = None
    explored: CollectedTrees | None = None

    @property
    def rate(self) -> float:
        """Rows of a tree per row of the table, on average."""
        return 1.0 if self.sample is None else self.sample.rate

    def labeled_rows(self, tree: int, n_labeled: int) -> NDArray[np.int64]:
        """Labelled rows in the sample of one tree; there must be samples."""
        assert self.sample_seeds is not None
        seed = int(self.sample_seeds[tree])
        if self.sample is None:
            return bootstrap_rows(n_labeled, seed)
        return sample_rows(0, n_labeled, seed, self.sample.chances)

    def labeled_weight(self, totals: RowTotals) -> float:
        """Weight of the labelled rows of a tree."""
        if self.max_labeled is None or self.max_labeled >= totals.n_labeled:
            return totals.labeled_total
        return totals.labeled_total * self.max_labeled / totals.n_labeled

    def take_trees(self, first: int, end: int | None = None) -> TreePlan:
        """The plan of the trees [first, end)."""
        samples = self.sample_seeds
        return replace(
            self,
            seeds=self.seeds[first:end],
            sample_seeds=None if samples is None else samples[first:end],
        )


@dataclass(frozen=True)
class StepPlans:
    """What the two steps of a fit grow.

    Attributes
    ----------
    explore : TreePlan or None
        None where no row is unlabelled.
    refine : TreePlan
        Before the pseudo-labels are known.
    seeds : ForestSeeds
    """

    explore: TreePlan | None
    refine: TreePlan
    seeds: ForestSeeds

"""From partitions to a grower: number rows, draw the subsample, find edges and theta, code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from lacforest._coding.bins import SAMPLED_ROWS, ColumnBins
from lacforest._coding.coded_table import CodedTable
from lacforest._contract.deployment import Deployment, find_deployment
from lacforest._input.labels import make_labels
from lacforest._input.parameters import is_real
from lacforest._input.tables import RowStack
from lacforest._input.training_data import RowTotals, TrainingRows, WeightGroups
from lacforest._tree.coded_columns import CodedColumns
from lacforest._utils.classes import Labels
from lacforest.dask.engine import Engine, same
from lacforest.dask.facts import (
    ColumnFacts,
    Numbers,
    RowFacts,
    SampledRows,
    columns_of,
    find_facts,
    rows_of,
    take_sample,
)
from lacforest.dask.grower import PartitionGrower
from lacforest.dask.reading import ReadingRules
from lacforest.dask.recipes import Part
from lacforest.dask.tasks import TableFacts, code_part, encode


@dataclass(frozen=True)
class Prepared:
    """What the two steps of a forest start from."""

    grower: PartitionGrower
    labels: Labels
    deployment: Deployment | None


def check_class_weight(class_weight: Any) -> dict[Any, float] | None:
    """Refuse weights of classes that are not whole numbers."""
    if class_weight is None:
        return None
    reason = (
        "a distributed fit takes whole weights only, for which sums do not depend on how rows are "
        "divided"
    )
    if isinstance(class_weight, str):
        raise ValueError(
            f"class_weight={class_weight!r} gives weights that are fractions: {reason}"
        )
    if not isinstance(class_weight, dict):
        raise TypeError(f"class_weight must be a dict or None, got {class_weight!r}")
    for label, factor in class_weight.items():
        if not is_real(factor) or not (factor >= 0 and float(factor).is_integer()):
            raise ValueError(f"class_weight of {label!r} is {factor!r}: {reason}")
    return {label: float(factor) for label, factor in class_weight.items()}


def prepare(
    engine: Engine,
    parts: Sequence[Part],
    rules: ReadingRules,
    estimator: Any,
    theta: Any,
    entropy: NDArray[np.uint32],
) -> Prepared:
    """Read all partitions three times: for facts, for the subsample, for codes.

    Parameters
    ----------
    engine : Engine
    parts : sequence of partitions
        See `Part`.
    rules : ReadingRules
    estimator : forest
    theta : float or estimator
        What `check_theta` returned.
    entropy : uint32 array
    """
    shared_rules = engine.broadcast(same, [], rules, to="rules")
    found = engine.map(find_facts, parts, shared_rules, to="look")
    by_part: list[RowFacts] = engine.gather(
        engine.map(rows_of, [(facts,) for facts in found], to="rows"), "looking at partitions"
    )
    merged = engine.reduce(
        ColumnFacts.merge,
        engine.map(columns_of, [(facts,) for facts in found], to="columns"),
        to="merge",
    )
    columns: ColumnFacts = engine.gather([merged], "looking at columns")[0]
    del found, merged
    known = _known_classes(by_part, rules)
    n_unlabeled = sum(facts.n_unlabeled for facts in by_part)
    labels = make_labels(known, estimator.new_label, n_unlabeled > 0)
    numbers = _number_rows(by_part)
    items = [(*part, number) for part, number in zip(parts, numbers, strict=True)]

    sample = _draw_sample(engine, items, shared_rules, numbers[0].n_labeled + n_unlabeled)
    is_weighted = any(
        facts.weights is not None and (facts.weights != 1.0).any() for facts in by_part
    )
    rows = _training_rows(sample, known, is_weighted)
    bins = _find_bins(sample.table, columns, rules)
    codes = encode(sample.table, bins)
    coded = CodedTable(
        rows.table,
        CodedColumns(list(codes), [len(own.values) for own in bins], columns.has_missing.tolist()),
        bins,
    )
    deployment = None
    if n_unlabeled > 0:
        _check_sample(rows)
        deployment = find_deployment(
            theta, estimator.known_shares, rows, known, coded, entropy, estimator.n_jobs
        )
    factor = None if deployment is None else deployment.rows.class_factor
    totals = _sum_totals(by_part, known, n_unlabeled, is_weighted, factor, rules.n_features)
    facts = TableFacts(totals, known, bins, columns.has_missing, factor)
    shared_facts = engine.broadcast(same, [], facts, to="facts")
    coded_parts = engine.map(code_part, items, shared_rules, shared_facts, to="code")
    unlabeled = sample.numbers[sample.n_labeled :]
    grower = PartitionGrower(engine, coded_parts, facts, shared_facts, coded, unlabeled)
    return Prepared(grower, labels, deployment)


def _known_classes(by_part: Sequence[RowFacts], rules: ReadingRules) -> NDArray[Any]:
    found = [facts.every_label for facts in by_part if len(facts.every_label)]
    if not found or not any(facts.n_labeled for facts in by_part):
        raise ValueError("no partition has a labelled row: nothing can be learned")
    is_text = [isinstance(labels.tolist()[0], str) for labels in found]
    if any(is_text) != all(is_text):
        raise TypeError("labels are text in some partitions of y and numbers in others")
    known: NDArray[Any] = np.unique(np.concatenate(found))
    check_classification_targets(known)
    unknown = [label for label in rules.class_weight or {} if label not in known.tolist()]
    if unknown:
        raise ValueError(f"class_weight names labels that are not in y: {unknown}")
    return known


def _number_rows(by_part: Sequence[RowFacts]) -> list[Numbers]:
    numbers, labeled, unlabeled = [], 0, 0
    n_labeled = sum(facts.n_labeled for facts in by_part)
    for facts in by_part:
        numbers.append(Numbers(labeled, unlabeled, n_labeled, facts.digest))
        labeled += facts.n_labeled
        unlabeled += facts.n_unlabeled
    return numbers


def _draw_sample(
    engine: Engine, items: Sequence[tuple[Any, ...]], rules: Any, n_rows: int
) -> SampledRows:
    """The rows of smallest hash, as many as the bins of a local fit are found from."""
    share = 1.0
    if n_rows > SAMPLED_ROWS:
        # Eight standard deviations more than needed: almost never too few.
        share = min(1.0, (SAMPLED_ROWS + 8.0 * SAMPLED_ROWS**0.5) / n_rows)
    while True:
        bound = min(2**64 - 1, int(share * 2.0**64))
        drawn = engine.map(take_sample, items, rules, bound, to="sample")
        sample = _join_samples(engine.gather(drawn, "drawing the subsample"))
        if len(sample.words) >= min(n_rows, SAMPLED_ROWS):
            return _smallest(sample)
        share = min(1.0, 2.0 * share)


def _join_samples(parts: Sequence[SampledRows]) -> SampledRows:
    def join(name: str) -> NDArray[Any]:
        """Labelled rows of all partitions, then unlabelled ones."""
        values = [(getattr(part, name), part.n_labeled) for part in parts]
        return np.concatenate(
            [own[:first] for own, first in values] + [own[first:] for own, first in values]
        )

    def join_weights(name: str) -> NDArray[np.float64] | None:
        weights = [(getattr(part, name), part.n_labeled) for part in parts]
        if all(own is None for own, _ in weights):
            return None
        return np.concatenate([np.ones(n) if own is None else own for own, n in weights])

    return SampledRows(
        n_labeled=sum(part.n_labeled for part in parts),
        words=join("words"),
        numbers=join("numbers"),
        table=join("table"),
        labels=np.concatenate([part.labels for part in parts if part.n_labeled] or [np.zeros(0)]),
        weight=join_weights("weight"),
        sampling=join_weights("sampling"),
    )


def _smallest(sample: SampledRows) -> SampledRows:
    if len(sample.words) <= SAMPLED_ROWS:
        return sample
    kept = np.sort(np.argpartition(sample.words, SAMPLED_ROWS)[:SAMPLED_ROWS])
    labeled = kept[kept < sample.n_labeled]
    return SampledRows(
        n_labeled=len(labeled),
        words=sample.words[kept],
        numbers=sample.numbers[kept],
        table=sample.table[kept],
        labels=sample.labels[labeled],
        weight=None if sample.weight is None else sample.weight[labeled],
        sampling=None if sample.sampling is None else sample.sampling[labeled],
    )


def _training_rows(sample: SampledRows, known: NDArray[Any], is_weighted: bool) -> TrainingRows:
    """The subsample as the rows of a fit: theta and shares are found from them."""
    n_labeled, n_known = sample.n_labeled, len(known)
    n_unlabeled = len(sample.table) - n_labeled
    classes = np.searchsorted(known, sample.labels)
    weight = None
    if is_weighted and sample.weight is not None:
        weight = np.concatenate([sample.weight, np.ones(n_unlabeled)])
    return TrainingRows(
        table=RowStack([sample.table[:n_labeled], sample.table[n_labeled:]]),
        classes=np.concatenate([classes, np.full(n_unlabeled, n_known)]).astype(np.uint16),
        weight=weight,
        sampling_weight=sample.sampling,
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
        n_known=n_known,
    )


def _check_sample(rows: TrainingRows) -> None:
    if rows.n_labeled == 0 or rows.n_unlabeled == 0:
        kind = "labelled" if rows.n_labeled == 0 else "unlabelled"
        raise ValueError(
            f"none of the {rows.n_labeled + rows.n_unlabeled} rows that theta is found from is "
            f"{kind}: such rows are too rare in this table for a distributed fit"
        )


def _find_bins(
    table: NDArray[Any], columns: ColumnFacts, rules: ReadingRules
) -> tuple[ColumnBins, ...]:
    bins = []
    for feature, distinct in enumerate(columns.distinct):
        if distinct is not None:
            bins.append(ColumnBins(distinct, None))
            continue
        column = table[:, feature]
        present = column[~np.isnan(column)]
        if len(present) == 0:
            name = f"column {feature}" if rules.names is None else repr(rules.names[feature])
            raise ValueError(
                f"{name} is missing in all of the {len(table)} rows that bins are found from: "
                "drop this column"
            )
        bins.append(ColumnBins.of(present, rules.max_bins))
    return tuple(bins)


def _sum_totals(
    by_part: Sequence[RowFacts],
    known: NDArray[Any],
    n_unlabeled: int,
    is_weighted: bool,
    factor: NDArray[np.float64] | None,
    n_features: int,
) -> RowTotals:
    present = [facts for facts in by_part if len(facts.labels)]
    classes = np.searchsorted(known, np.concatenate([facts.labels for facts in present]))
    counts = np.concatenate([facts.counts for facts in present])
    weight = None
    if is_weighted or factor is not None:
        weight = np.concatenate(
            [
                np.ones(len(facts.labels)) if facts.weights is None else facts.weights
                for facts in present
            ]
        )
        if factor is not None:
            weight = weight * factor[classes]
    groups = WeightGroups(classes, weight, counts)
    return groups.totals(n_unlabeled, len(known), n_features, factor)

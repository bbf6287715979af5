"""Which columns of two tables a forest can use, and as what: one pass that finds all problems."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lacforest._utils.extras import load_extra
from lacforest.tabular._columns import (
    Column,
    as_numbers,
    as_text,
    find_kind,
    is_number,
    present,
)
from lacforest.tabular._dates import ELAPSED, HOUR, LENGTH, WEEKDAY, as_stamps, is_span, part_of
from lacforest.tabular._identifiers import FEW, why_identifier
from lacforest.tabular.errors import Problems, TableError, listed
from lacforest.tabular.kinds import CONTENTS, Kind
from lacforest.tabular.options import CoderOptions, Sources, check_names

_MOST_CATEGORIES = 100_000
# Rows per category from which sets were no worse than ordinal codes; with 2 rows per category they
# were far worse, see docs/guide/categories.rst.
_ROWS_PER_CATEGORY = 20
# Features of one column that is coded one-hot.
_MOST_FEATURES = 256


@dataclass
class Survey:
    """The columns to use, those left out with the reason, and notes for the user."""

    options: CoderOptions
    sources: Sources
    columns: tuple[Column, ...] = ()
    dropped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    # Columns of dates in both tables.
    dates: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def add(self, name: str, pair: tuple[Any, Any]) -> None:
        """Decide on one column, given its values in both tables."""
        column = self._find_column(name, pair)
        if column is not None:
            self.columns = (*self.columns, column)

    # ------------------------------------------------------------------ kinds

    def _find_column(self, name: str, pair: tuple[Any, Any]) -> Column | None:
        advice = self.options.advice
        for values, source in zip(pair, self.sources, strict=True):
            if values.isna().all():
                raise TableError(
                    f"column {name!r} of {source} has no values. Rows with a value would differ by "
                    f"that alone: fill in the values, or use {advice.option('drop', name)}"
                )
        if name in self.options.text:
            return self._find_categories(name, pair)
        kind = self._find_kind(name, pair)
        if kind == "text":
            return self._find_categories(name, pair)
        if kind == "number":
            return self._check_numbers(name, pair)
        if kind == "date":
            return self._find_parts(name, pair)
        return None if self._is_constant(name, pair) else Column(name, "boolean")

    def _find_kind(self, name: str, pair: tuple[Any, Any]) -> Kind:
        advice = self.options.advice
        problems, kinds = Problems(), []
        for values, source in zip(pair, self.sources, strict=True):
            with problems.collecting():
                kinds.append(find_kind(values, name, source, advice))
        problems.raise_if_any()
        if "date" in kinds and not self.options.dates:
            source = self.sources[kinds.index("date")]
            raise TableError(
                f"column {name!r} of {source} contains dates or times. Rows from deployment are "
                "mostly later than labelled ones, and would look new by that alone: use "
                f"{advice.flag('dates')} to learn from hour, weekday and elapsed days, or "
                f"{advice.option('drop', name)}"
            )
        if "mixed" in kinds and {*kinds} <= {"mixed", "number", "text"}:
            return self._judge_mixed(name, pair)
        first, second = kinds
        if first == second and first != "mixed":
            return first
        if second == "mixed" or first == "mixed":
            first, second = ("text" if kind == "mixed" else kind for kind in kinds)
        examples = [str(values.dropna().iloc[0]) for values in pair]
        raise TableError(
            f"column {name!r} contains {CONTENTS[first]} in {self.sources[0]} (such as "
            f"{examples[0]!r}) and {CONTENTS[second]} in {self.sources[1]} (such as "
            f"{examples[1]!r}): convert one of them, or use {advice.option('text', name)} or "
            f"{advice.option('drop', name)}"
        )

    def _judge_mixed(self, name: str, pair: tuple[Any, Any]) -> Kind:
        """Text with stray numbers is text; numbers with stray texts are an error."""
        masks = [is_number(values) for values in pair]
        filled = [values.notna().to_numpy() for values in pair]
        n_numbers, n_values = (sum(int(mask.sum()) for mask in group) for group in (masks, filled))
        if 2 * n_numbers <= n_values:
            example = next(
                v[mask].iloc[0] for v, mask in zip(pair, masks, strict=True) if mask.any()
            )
            self.notes.append(
                f"column {name!r} is taken as text: {n_numbers:,} of {n_values:,} values are "
                f"numbers, such as {str(example)!r}"
            )
            return "text"
        advice, problems = self.options.advice, Problems()
        for values, mask, has, source in zip(pair, masks, filled, self.sources, strict=True):
            stray = np.flatnonzero(has & ~mask)
            with problems.collecting():
                if len(stray):
                    text = str(values.iloc[stray[0]])
                    raise TableError(
                        f"column {name!r} of {source} contains numbers and text: {mask.sum()} of "
                        f"{has.sum()} values are numbers, but {text!r} (row {stray[0] + 1}) is "
                        f"not. Correct it, or use {advice.option('missing', text)}, "
                        f"{advice.option('text', name)} or {advice.option('drop', name)}"
                    )
        problems.raise_if_any()
        return "number"

    # ------------------------------------------------------------------ columns of one kind

    def _check_numbers(self, name: str, pair: tuple[Any, Any]) -> Column | None:
        or_else = f", or use {self.options.advice.option('drop', name)}"
        arrays = [
            as_numbers(values, name, source, or_else)
            for values, source in zip(pair, self.sources, strict=True)
        ]
        every = np.concatenate(arrays)
        if every.min() == every.max():  # False if a value is missing, because min and max are NaN
            self.leave_out(name, "it has the same value in all rows")
            return None
        why = None if name in self.options.use else why_identifier(arrays)
        if why is not None:
            self.leave_out(name, f"{why} ({self.options.advice.option('use', name)} keeps it)")
            return None
        return Column(name, "number")

    def _find_categories(self, name: str, pair: tuple[Any, Any]) -> Column | None:
        advice = self.options.advice
        if self._is_constant(name, pair):
            return None
        texts = [as_text(values).dropna() for values in pair]
        n_values = sum(map(len, texts))
        distinct = sorted({*texts[0], *texts[1]})
        too_many = len(distinct) > _MOST_CATEGORIES
        if too_many or (name not in self.options.use and _rarely_repeats(texts, len(distinct))):
            keep = "" if too_many else f" ({advice.option('use', name)} keeps it)"
            self.leave_out(name, f"it has {len(distinct)} different texts in {n_values} rows{keep}")
            return None
        if self.options.categories == "onehot" and len(distinct) > _MOST_FEATURES:
            raise TableError(
                f"column {name!r} has {len(distinct)} categories, too many for one-hot coding: use "
                f"native categories, or {advice.option('drop', name)}"
            )
        coding = self.options.categories
        if coding == "native" and n_values < _ROWS_PER_CATEGORY * len(distinct):
            coding = "ordinal"
        return Column(name, "text", tuple(distinct), coding)

    def _find_parts(self, name: str, pair: tuple[Any, Any]) -> Column | None:
        """The parts of dates that differ between rows; elapsed days are added in `link_dates`."""
        candidates = (LENGTH,) if is_span(pair[0]) else (HOUR, WEEKDAY)
        parts = tuple(part for part in candidates if self._varies(name, part, pair))
        self.dates[name] = pair
        return Column(name, "date", parts=parts)

    def _varies(
        self, name: str, part: str, pair: tuple[Any, Any], starts: Any = (None, None)
    ) -> bool:
        every = np.concatenate(
            [
                part_of(values, part, name, source, start)
                for values, source, start in zip(pair, self.sources, starts, strict=True)
            ]
        )
        return len(np.unique(every)) > 1

    def link_dates(self) -> None:
        """Count elapsed days from the first column of dates, and leave out dates without parts."""
        start: str | None = None
        stamps: list[Any] = []
        columns = []
        for column in self.columns:
            if WEEKDAY in column.parts:
                name, pair = column.name, self.dates[column.name]
                if start is None:
                    start, stamps = name, [as_stamps(values, name, "") for values in pair]
                elif self._varies(name, ELAPSED, pair, stamps):
                    column = replace(column, parts=(*column.parts, ELAPSED), since=start)
            if column.kind == "date" and not column.parts:
                self.leave_out(column.name, "its hour and weekday are the same in all rows")
            else:
                columns.append(column)
        self.columns = tuple(columns)

    def _is_constant(self, name: str, pair: tuple[Any, Any]) -> bool:
        constant = (
            all(values.notna().all() for values in pair)
            and len({*pair[0].unique(), *pair[1].unique()}) == 1
        )
        if constant:
            self.leave_out(name, "it has the same value in all rows")
        return constant

    def leave_out(self, name: str, why: str) -> None:
        """Do not use a column, and note why."""
        self.dropped[name] = why
        self.notes.append(f"column {name!r} is left out: {why}")


def _rarely_repeats(texts: list[Any], n_distinct: int) -> bool:
    """Whether texts look like names of rows: mostly different, or each once per table."""
    if all(len(values) >= FEW and values.is_unique for values in texts):
        return True
    return n_distinct > max(FEW, sum(map(len, texts)) // 2)


def survey(
    labeled: Any, unlabeled: Any, target: str | None, sources: Sources, options: CoderOptions
) -> Survey:
    """Decide on every column of two frames; raises one TableError with all problems."""
    for frame, source in zip((labeled, unlabeled), sources, strict=True):
        check_header(frame, source)
    problems = Problems()
    check_names((labeled.columns, unlabeled.columns), target, sources, options, problems)
    found = Survey(options, sources, dropped=dict.fromkeys(options.drop, "as requested"))
    if target is not None and target in unlabeled.columns:
        found.notes.append(f"column {target!r} of {sources[1]} is not used")
    for name in labeled.columns:
        if name in options.drop or name == target or name not in unlabeled.columns:
            continue
        if not name.strip():
            found.leave_out(name, "it has no name (pandas writes row numbers without a name)")
            continue
        pair = (present(labeled[name], options.missing), present(unlabeled[name], options.missing))
        with problems.collecting():
            found.add(name, pair)
    found.link_dates()
    problems.raise_if_any()
    if not found.columns:
        raise TableError(f"{sources[0]} has no columns to learn from")
    return found


def check_header(frame: Any, source: str) -> None:
    """Raise unless it is a frame of pandas in which the names of columns are distinct texts."""
    if not isinstance(frame, load_extra("pandas").DataFrame):
        own = type(frame)
        raise TypeError(
            f"{source} must be a pandas.DataFrame, got {own.__module__}.{own.__qualname__}"
        )
    if not frame.columns.is_unique:
        twice = list(frame.columns[frame.columns.duplicated()].unique())
        raise TableError(f"{source} has more than one column called {listed(twice)}")
    strange = [name for name in frame.columns if not isinstance(name, str)]
    if strange:
        raise TableError(f"column names must be text, but {source} has {strange[0]!r}")

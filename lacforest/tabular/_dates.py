"""Dates and times as numbers that rows of both tables can share: hour, weekday, elapsed days."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._utils.extras import load_extra
from lacforest.tabular.errors import TableError

# Parts of a date, in the order of features. ELAPSED is counted from another column of the same row,
# LENGTH is that of a span of time. Both are in days.
HOUR, WEEKDAY, ELAPSED, LENGTH = "hour", "weekday", "elapsed", "days"
PARTS = (HOUR, WEEKDAY, ELAPSED, LENGTH)
_TIME_ONLY = r"\s*\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*"
_THEN_TIME = r"(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
# With dots the day comes first everywhere.
_DAY_FIRST = r"(\d{1,2})\.(\d{1,2})\.(\d{4})"
_DATE = rf"(?:\d{{4}}[-./]\d{{1,2}}[-./]\d{{1,2}}|{_DAY_FIRST}){_THEN_TIME}"
# With slashes or dashes either may come first, and names of months are of one language.
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_UNCLEAR_DATE = (
    rf"(?:\d{{1,2}}/\d{{1,2}}/\d{{2}}|\d{{1,2}}[/-]\d{{1,2}}[/-]\d{{4}}"
    rf"|\d{{1,2}}\.?[ -]{_MONTH}[ -]\d{{4}}|{_MONTH} \d{{1,2}},? \d{{4}})(?:[ T,].*)?"
)
# Texts that show whether a column holds dates.
_FIRST_TEXTS = 100


def is_span(values: Any) -> bool:
    """Whether a column contains spans of time rather than points in time."""
    kind = load_extra("pandas").api.types.infer_dtype(values.dropna(), skipna=True)
    return str(kind).startswith("timedelta")


def find_dates(texts: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which texts are dates or times that `as_stamps` reads, and which are dates of other forms.

    Nothing is searched where none of the first texts is a date: columns are long, and few hold
    dates.
    """
    masks = []
    for pattern in (rf"(?:{_DATE}|{_TIME_ONLY})", _UNCLEAR_DATE):
        found = np.zeros(len(texts), dtype=np.bool_)
        if texts.iloc[:_FIRST_TEXTS].astype(str).str.fullmatch(pattern).any():
            found = texts.astype(str).str.fullmatch(pattern).to_numpy(dtype=np.bool_)
        masks.append(found)
    return masks[0], masks[1]


def as_stamps(values: Any, name: str, source: str) -> Any:
    """A column of dates or times as time stamps in UTC; a time of day belongs to 1970-01-01."""
    pandas = load_extra("pandas")
    if pandas.api.types.is_datetime64_any_dtype(values):
        return pandas.to_datetime(values, utc=True)
    texts = values.map(str, na_action="ignore").astype(object)
    is_time = texts.str.fullmatch(_TIME_ONLY, na=False)
    texts = texts.mask(is_time, "1970-01-01T" + texts.str.strip())
    texts = texts.str.replace(f"^{_DAY_FIRST}", r"\3-\2-\1", regex=True)
    stamps = pandas.to_datetime(texts, format="ISO8601", utc=True, errors="coerce")
    wrong = np.flatnonzero(stamps.isna() & values.notna())
    if len(wrong):
        raise TableError(
            f"column {name!r} of {source} must contain dates or times, but "
            f"{str(values.iloc[wrong[0]])!r} is neither (row {wrong[0] + 1})"
        )
    return stamps


def part_of(values: Any, part: str, name: str, source: str, since: Any = None) -> NDArray[Any]:
    """One part of every date as a number.

    Parameters
    ----------
    values : pandas.Series
        A column of dates.
    part : {"hour", "weekday", "elapsed", "days"}
    name, source : str
        Names of the column and its table, for messages.
    since : pandas.Series, optional
        The time stamps from which "elapsed" is counted.
    """
    pandas = load_extra("pandas")
    if part == LENGTH:
        return _days(pandas.to_timedelta(values))
    stamps = as_stamps(values, name, source)
    if part == ELAPSED:
        return _days(stamps - since)
    numbers = stamps.dt.day_of_week
    if part == HOUR:
        numbers = (stamps - stamps.dt.normalize()).dt.total_seconds() / 3600
    found: NDArray[Any] = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    return found


def _days(spans: Any) -> NDArray[Any]:
    days: NDArray[Any] = (spans.dt.total_seconds() / 86_400).to_numpy(np.float64, na_value=np.nan)
    return days

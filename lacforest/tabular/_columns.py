"""The kind of a column, and its coding as numbers."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lacforest._utils.extras import load_extra
from lacforest.tabular._csv import TRUTH
from lacforest.tabular._dates import ELAPSED, as_stamps, find_dates, part_of
from lacforest.tabular.errors import Advice, TableError
from lacforest.tabular.kinds import Coding, Kind

# Kinds that pandas infers for a column of Python objects.
_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")
_DATES = ("date", "datetime", "datetime64", "time", "timedelta", "timedelta64", "period")
_MIXED = ("mixed", "mixed-integer")
# Numbers as people write them: with a decimal comma, thousands apart, a currency or a percent sign.
_SPACE = "[ \u00a0\u2009\u202f]?"
_GROUPED = "|".join(
    [
        r"\d{1,3}(?:,\d{3})+(?:\.\d+)?",
        r"\d{1,3}(?:[.'\u2019 \u00a0\u2009\u202f]\d{3})+(?:,\d+)?",
        r"\d+(?:[.,]\d+)?",
    ]
)
_CURRENCY = "[$\u00a3\u00a5\u20ac]?"
_WRITTEN = rf"\s*[-+]?{_CURRENCY}{_SPACE}[-+]?(?:{_GROUPED}){_SPACE}[%$\u00a3\u00a5\u20ac]?\s*"
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
# Texts that show whether a column holds such numbers.
_FIRST_TEXTS = 100


def present(values: Any, missing: Collection[str]) -> Any:
    """The column with texts that mean a missing value replaced by missing values."""
    if not missing or is_plain(values):
        return values
    return values.mask(values.isin(list(missing)))


def is_plain(values: Any) -> bool:
    """Whether a column has a numeric or boolean type, and therefore no text."""
    types = load_extra("pandas").api.types
    return bool(types.is_numeric_dtype(values) or types.is_bool_dtype(values))


def find_kind(values: Any, name: str, source: str, advice: Advice) -> Kind | Literal["mixed"]:
    """The kind of a column with at least one value, "mixed" for numbers among text.

    Parameters
    ----------
    values : pandas.Series
    name, source : str
        Names of the column and its table, for messages.
    advice : Advice
        How messages spell options.

    Raises
    ------
    TableError
        If a forest cannot use the column.
    """
    pandas = load_extra("pandas")
    types, dtype = pandas.api.types, values.dtype
    values = values.dropna()
    if isinstance(dtype, pandas.CategoricalDtype):
        values = pandas.Series(dtype.categories)
    kind = types.infer_dtype(values, skipna=True)
    if kind == "boolean":
        return "boolean"
    if kind in _NUMBERS:
        return "number"
    if kind in _DATES:
        return "date"
    if kind == "string" or (kind in _MIXED and _is_text_and_other(values)):
        return _kind_of_text(as_text(values), f"column {name!r} of {source}", name, advice)
    raise TableError(
        f"column {name!r} of {source} contains values of several types or of an unsupported one, "
        f"for instance {_first_odd(values)!r}: convert them to numbers or text, or use "
        f"{advice.option('drop', name)}"
    )


def _is_text_and_other(values: Any) -> bool:
    """Whether texts stand beside numbers, or beside dates as where files are joined."""
    types = {type(value) for value in values}
    return all(
        issubclass(own, str | int | float) and not issubclass(own, bool) for own in types
    ) or all(issubclass(own, str | date) for own in types)


def _kind_of_text(
    values: Any, where: str, name: str, advice: Advice
) -> Literal["number", "text", "date", "mixed"]:
    numbers = is_number(values)
    if numbers.all():
        return "number"
    others = values[~numbers].astype(str)
    written = others[:_FIRST_TEXTS].str.fullmatch(_WRITTEN)
    if written.any():
        written = others.str.fullmatch(_WRITTEN)
        if 2 * (numbers.sum() + written.sum()) > len(values):
            example = str(others[written].iloc[0])
            is_comma = advice.is_command and _DECIMAL_COMMA.fullmatch(example)
            comma = "use --decimal , if all are written so in a CSV file, " if is_comma else ""
            raise TableError(
                f"{where} contains numbers written like {example!r}: {comma}write them "
                "with a decimal point, without separators and signs of currency or percent "
                f"(1234.5), or use {advice.option('text', name)} or {advice.option('drop', name)}"
            )
    if numbers.any():
        return "mixed"
    return "date" if _has_dates(values, where, name, advice) else "text"


def _has_dates(values: Any, where: str, name: str, advice: Advice) -> bool:
    """Whether all texts are dates; dates that cannot be read, and stray texts, are an error."""
    is_date, is_unclear = find_dates(values)
    if is_date.all():
        return True
    if 2 * (is_date | is_unclear).sum() <= len(values):
        return False
    others = f"or use {advice.option('text', name)}, or {advice.option('drop', name)}"
    if is_unclear.any():
        raise TableError(
            f"{where} contains dates such as {str(values[is_unclear].iloc[0])!r}, from which day "
            f"and month cannot be told for certain: write them as 2024-12-31, {others}"
        )
    stray = str(values[~is_date].iloc[0])
    raise TableError(
        f"{where} contains dates and text: {is_date.sum()} of {len(values)} values are dates or "
        f"times, but {stray!r} is not. Correct it, or use {advice.option('missing', stray)}, "
        f"{others}"
    )


def is_number(values: Any) -> NDArray[np.bool_]:
    """Which values are numbers, or texts of numbers; missing values are not."""
    numbers = load_extra("pandas").to_numeric(as_text(values), errors="coerce")
    found: NDArray[np.bool_] = numbers.notna().to_numpy()
    return found


def _first_odd(values: Any) -> Any:
    """A value that differs in type from the first one, if there is one."""
    first = type(values.iloc[0])
    odd = [value for value in values if type(value) is not first]
    return odd[0] if odd else values.iloc[0]


def as_text(values: Any) -> Any:
    """Every value as text, integral floats without decimals; missing values stay missing."""

    def text_of(value: Any) -> str:
        whole = isinstance(value, float) and value.is_integer()
        return str(int(value)) if whole else str(value)

    plain = values.astype(object)
    if load_extra("pandas").api.types.infer_dtype(plain, skipna=True) == "string":
        return plain
    return plain.map(text_of, na_action="ignore")


def as_numbers(values: Any, name: str, source: str, or_else: str = "") -> NDArray[np.float64]:
    """A column of numbers as float64, with NaN for missing values.

    An error about infinite values ends with `or_else`.
    """
    pandas = load_extra("pandas")
    if isinstance(values.dtype, pandas.CategoricalDtype):
        values = values.astype(object)
    if not is_plain(values):
        numbers = pandas.to_numeric(values, errors="coerce")
        wrong = np.flatnonzero(numbers.isna() & values.notna())
        if len(wrong):
            raise TableError(
                f"column {name!r} of {source} must contain numbers, but "
                f"{values.iloc[wrong[0]]!r} is not a number ({_rows(wrong)})"
            )
        values = numbers
    array: NDArray[np.float64] = values.to_numpy(dtype=np.float64, na_value=np.nan)
    infinite = np.flatnonzero(np.isinf(array))
    if len(infinite):
        raise TableError(
            f"column {name!r} of {source} contains infinite values ({_rows(infinite)}): replace "
            f"them{or_else}"
        )
    return array


def _as_truth(values: Any, name: str, source: str) -> NDArray[np.float64]:
    """A column of booleans as 0, 1 and NaN."""
    types = load_extra("pandas").api.types
    if types.is_bool_dtype(values):
        plain: NDArray[np.float64] = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return plain
    numbers = values.map(lambda value: TRUTH.get(str(value)), na_action="ignore")
    wrong = np.flatnonzero(numbers.isna() & values.notna())
    if len(wrong):
        raise TableError(
            f"column {name!r} of {source} must contain true or false, but "
            f"{values.iloc[wrong[0]]!r} is neither ({_rows(wrong)})"
        )
    array: NDArray[np.float64] = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    return array


def _rows(places: NDArray[np.intp]) -> str:
    others = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"row {places[0] + 1}{others}"


@dataclass(frozen=True)
class Column:
    """How one column of a table becomes features.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "text", "date"}
    categories : tuple of str
        The distinct texts of a column of text, sorted.
    coding : {"native", "ordinal", "onehot"}
        Of text: its index among the categories, or one feature per category. The forest takes
        the index as a category, or as a number.
    parts : tuple of str
        The parts of a date that become features.
    since : str or None
        The column from which "elapsed" is counted, if it is one of the parts.
    """

    name: str
    kind: Kind
    categories: tuple[str, ...] = ()
    coding: Coding = "ordinal"
    parts: tuple[str, ...] = ()
    since: str | None = None

    @property
    def feature_names(self) -> list[str]:
        """Names of the features that the column becomes."""
        if self.kind == "text" and self.coding == "onehot":
            return [f"{self.name}={category}" for category in self.categories]
        if self.kind == "date":
            after = f"days_after_{self.since}"
            return [f"{self.name}.{after if part == ELAPSED else part}" for part in self.parts]
        return [self.name]

    def encode(self, values: Any, source: str, out: NDArray[np.float64], since: Any = None) -> Any:
        """Write the features of a column into the columns of `out`.

        Parameters
        ----------
        values : pandas.Series
        source : str
            Name of the table, for messages.
        out : float64 array of shape (n_rows, n_features of the column)
        since : pandas.Series, optional
            The values of the column that `since` names.

        Returns
        -------
        pandas.Series
            Texts that are not among the categories. They become NaN, or zeros if coded one-hot.
        """
        none = values.iloc[:0]
        if self.kind == "number":
            out[:, 0] = as_numbers(values, self.name, source)
            return none
        if self.kind == "boolean":
            out[:, 0] = _as_truth(values, self.name, source)
            return none
        if self.kind == "date":
            start = None if self.since is None else as_stamps(since, self.since, source)
            for place, part in enumerate(self.parts):
                out[:, place] = part_of(values, part, self.name, source, start)
            return none
        texts = as_text(values)
        codes = load_extra("pandas").Index(self.categories, dtype=object).get_indexer(texts)
        unseen = (codes < 0) & texts.notna().to_numpy()
        if self.coding == "onehot":
            out[:] = codes[:, None] == np.arange(len(self.categories))
        else:
            out[:, 0] = np.where(codes < 0, np.nan, codes)
        return texts[unseen]

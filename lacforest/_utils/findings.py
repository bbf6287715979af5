"""The result of a check of an assumption."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LEVELS = ("ok", "caution", "problem")
# Rate of false alarms of tests: that nothing is new, and that a batch has the shares of the fit.
FALSE_ALARMS = 0.05


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes
    ----------
    topic : str
        "something new", "something known", "identifiable", "agreement", "fit", "class shares",
        "look-alikes", "drift" or "control".
    level : {"ok", "caution", "problem"}
    text : str
        What was found, and what to do.
    columns : tuple of str
        Names of the columns that are to blame, if any are.
    """

    topic: str
    level: Literal["ok", "caution", "problem"]
    text: str
    columns: tuple[str, ...] = ()

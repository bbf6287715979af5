"""A failed fit leaves the estimator unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Restore all attributes of the estimator if the block raises, Ctrl-C included."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise

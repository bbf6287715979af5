"""Fitted attributes that change all at once, and methods that read those of a single fit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

_Method = TypeVar("_Method", bound=Callable[..., Any])
_Object = TypeVar("_Object")


@contextmanager
def replaced_at_once(estimator: _Object) -> Iterator[_Object]:
    """A copy to fit, whose attributes the estimator takes over when the block ends.

    They are one dict, which is put in place of the old one in a single step: another thread finds
    all of the earlier fit or all of this one. If the block raises, the estimator stays as it is.
    """
    fitted = object.__new__(type(estimator))
    vars(fitted).update(vars(estimator))
    yield fitted
    estimator.__dict__ = vars(fitted)


def one_state(estimator: _Object) -> _Object:
    """The same estimator, which no later fit changes: it holds the dict that a fit replaces."""
    held = object.__new__(type(estimator))
    held.__dict__ = vars(estimator)
    return held


def of_one_state(method: _Method) -> _Method:
    """Decorate a method that reads several attributes: a fit meanwhile does not mix with them."""

    @functools.wraps(method)
    def on_one_state(self: Any, *arguments: Any, **named: Any) -> Any:
        return method(one_state(self), *arguments, **named)

    return cast(_Method, on_one_state)

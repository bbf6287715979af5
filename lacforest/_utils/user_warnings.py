"""Warnings that point at the user's line."""

from __future__ import annotations

import sys
import warnings


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the nearest frame of the stack that is not part of lacforest."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "lacforest"

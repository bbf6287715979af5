"""Checks of parameters that several compared methods have."""

from __future__ import annotations

from typing import Any

import numpy as np

from lacforest._input.parameters import is_real


def check_positive(name: str, value: Any, *, zero_allowed: bool = False) -> None:
    """Reject anything but a positive number."""
    least = "not be negative" if zero_allowed else "be positive"
    if not is_real(value):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not np.isfinite(value) or value < 0 or (value == 0 and not zero_allowed):
        raise ValueError(f"{name} must be finite and {least}, got {value!r}")


def check_fraction(name: str, value: Any) -> None:
    """Reject anything but a number in [0, 1]."""
    if not is_real(value):
        raise TypeError(f"{name} must be a number in [0, 1], got {value!r}")
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}")

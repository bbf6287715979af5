"""The part of a file's header about deployment: shares, findings, drift, adaptation to a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.parameters import is_real
from lacforest._model.container import ModelFileError
from lacforest._model.values import decode_floats
from lacforest._utils.findings import LEVELS, Finding

# Wider than the factors of any batch; products of votes and factors neither vanish nor overflow.
_FACTORS = (1e-6, 1e6)


def encode_deployment(estimator: Any) -> dict[str, Any] | None:
    """Shares of known classes and findings of the fit; None where there is no new class."""
    if estimator.known_shares_ is None:
        return None
    interval = estimator.known_shares_interval_
    return {
        "known_shares": estimator.known_shares_.tolist(),
        "known_shares_interval": None if interval is None else interval.ravel().tolist(),
        "share_shift": estimator.share_shift_,
        "findings": [
            [found.topic, found.level, found.text, list(found.columns)]
            for found in estimator.fit_findings_
        ],
        "column_shift": _encode_columns(getattr(estimator, "column_shift_", None)),
        "theta_curve": _encode_columns(getattr(estimator, "theta_curve_", None)),
    }


def _encode_columns(table: NDArray[np.float64] | None) -> list[Any] | None:
    """One list per column; null for a column that does not apply and holds NaN."""
    if table is None:
        return None
    return [None if np.isnan(column).any() else column.tolist() for column in table.T]


def _restore_shift(stored: Any, n_features: int) -> NDArray[np.float64] | None:
    if stored is None:
        return None
    if not isinstance(stored, list) or len(stored) != 2:
        raise ModelFileError("column_shift is not a pair of lists")
    shift = np.full((n_features, 2), np.nan)
    for side, values in enumerate(stored):
        if values is None:
            continue
        chances = decode_floats(values, "column_shift")
        if chances.shape != (n_features,) or (chances < 0).any() or (chances > 1).any():
            raise ModelFileError("column_shift does not belong to the features")
        shift[:, side] = chances
    return shift


def _restore_curve(stored: Any) -> NDArray[np.float64] | None:
    """Points of a curve: where, how high, and as fitted."""
    if stored is None:
        return None
    if not isinstance(stored, list) or len(stored) != 3:
        raise ModelFileError("theta_curve is not three lists")
    x = decode_floats(stored[0], "theta_curve")
    curve = np.full((len(x), 3), np.nan)
    for column, values in enumerate(stored):
        if column == 2 and values is None:
            continue
        points = decode_floats(values, "theta_curve")
        if points.shape != x.shape or len(x) == 0 or (points < 0).any():
            raise ModelFileError("theta_curve is not the points of a curve")
        curve[:, column] = points
    if (x > 1).any():
        raise ModelFileError("theta_curve is not over shares of rows")
    return curve


def restore_deployment(estimator: Any, stored: Any) -> None:
    """Set the fitted attributes that `encode_deployment` stored; None clears them."""
    estimator.known_shares_ = estimator.known_shares_interval_ = None
    estimator.share_shift_, estimator.fit_findings_ = None, ()
    estimator.column_shift_ = estimator.theta_curve_ = None
    if stored is None:
        return
    n_known = len(estimator.known_classes_)
    shares = decode_floats(stored["known_shares"], "known_shares")
    if shares.shape != (n_known,) or (shares < 0).any() or abs(shares.sum() - 1.0) > 1e-6:
        raise ModelFileError("known_shares do not belong to the known classes")
    estimator.known_shares_ = shares
    if stored["known_shares_interval"] is not None:
        ends = decode_floats(stored["known_shares_interval"], "known_shares_interval")
        if ends.shape != (2 * n_known,) or (ends < 0).any() or (ends > 1).any():
            raise ModelFileError("known_shares_interval does not belong to the known classes")
        estimator.known_shares_interval_ = ends.reshape(n_known, 2)
    if stored["share_shift"] is not None:
        shift = stored["share_shift"]
        if not is_real(shift) or not np.isfinite(shift):
            raise ModelFileError("share_shift is not a finite number")
        estimator.share_shift_ = float(shift)
    estimator.fit_findings_ = tuple(_restore_finding(entry) for entry in stored["findings"])
    estimator.column_shift_ = _restore_shift(stored.get("column_shift"), estimator.n_features_in_)
    estimator.theta_curve_ = _restore_curve(stored.get("theta_curve"))


def encode_adaptation(estimator: Any) -> dict[str, Any]:
    """Factors of votes and shares of the fit, of a forest that was adapted to a batch."""
    return {
        "class_factors": estimator._class_factors.tolist(),
        "fitted_shares": estimator._fitted_shares.tolist(),
    }


def restore_adaptation(estimator: Any, stored: Any) -> None:
    """Set what `encode_adaptation` stored."""
    n_classes = len(estimator.classes_)
    factors = decode_floats(stored["class_factors"], "class_factors")
    shares = decode_floats(stored["fitted_shares"], "fitted_shares")
    low, high = _FACTORS
    if factors.shape != (n_classes,) or (factors < low).any() or (factors > high).any():
        raise ModelFileError("class_factors are not one positive number per class")
    if shares.shape != (n_classes,) or (shares < 0).any() or abs(shares.sum() - 1.0) > 1e-6:
        raise ModelFileError("fitted_shares do not belong to the classes")
    estimator._class_factors, estimator._fitted_shares = factors, shares


def _restore_finding(entry: Any) -> Finding:
    if (
        not isinstance(entry, list)
        or len(entry) != 4
        or not isinstance(entry[3], list)
        or not all(isinstance(part, str) for part in entry[:3] + entry[3])
        or entry[1] not in LEVELS
    ):
        raise ModelFileError("a finding of the fit is not a topic, a level, a text and columns")
    return Finding(entry[0], entry[1], entry[2], tuple(entry[3]))

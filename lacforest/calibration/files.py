"""Calibrators as part of model files."""

from __future__ import annotations

from typing import Any

import numpy as np

from lacforest._model.container import ModelFileError
from lacforest._model.values import decode_array, encode_array
from lacforest.calibration._calibrator import NoveltyCalibrator
from lacforest.calibration._folds import FoldScores


def encode_calibrator(calibrator: NoveltyCalibrator) -> dict[str, Any]:
    """A fitted calibrator as JSON, without its estimator and without the rows of its fit.

    Scores by halves are found first if they are not known, by two fits.
    """
    folds = calibrator._fold_scores()
    return {
        "scores": encode_array(calibrator.calibration_scores_),
        "fitted_rows": encode_array(calibrator._fitted_rows),
        "coincidence": calibrator._coincidence,
        "fold_known": encode_array(folds.known),
        "fold_unlabeled": encode_array(folds.unlabeled),
        "fold_p_values": encode_array(folds.p_values),
    }


def decode_calibrator(stored: Any, estimator: Any) -> NoveltyCalibrator:
    """The calibrator of a fitted estimator; raises ModelFileError where the content is invalid."""
    if not isinstance(stored, dict):
        raise ModelFileError("its calibration is not a JSON object")
    names = ("scores", "fold_known", "fold_unlabeled", "fold_p_values")
    arrays = {name: decode_array(stored.get(name), name, np.float64) for name in names}
    fitted_rows = decode_array(stored.get("fitted_rows"), "fitted_rows", np.uint64)
    coincidence = stored.get("coincidence")
    if not isinstance(coincidence, int | float) or not 0 <= coincidence <= 1:
        raise ModelFileError("the calibration has no valid coincidence")
    scores, p_values = arrays["scores"], arrays["fold_p_values"]
    if not len(arrays["fold_known"]):
        raise ModelFileError("the calibration has no scores by halves")
    if not len(scores) or (np.diff(scores) < 0).any():
        raise ModelFileError("the calibration scores are not in ascending order")
    if not len(fitted_rows) == len(arrays["fold_unlabeled"]) == len(p_values) > 0:
        raise ModelFileError("the calibration does not have one score per unlabelled row")
    if (p_values <= 0).any() or (p_values > 1).any():
        raise ModelFileError("a p-value of the calibration is not in (0, 1]")
    calibrator = NoveltyCalibrator(estimator)
    calibrator._keep(estimator, scores, fitted_rows)
    calibrator._coincidence = float(coincidence)
    calibrator._rows, calibrator._half_seed = None, 0
    calibrator._folds = FoldScores(arrays["fold_known"], arrays["fold_unlabeled"], p_values)
    return calibrator

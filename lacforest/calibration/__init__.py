"""Decisions about new rows with a bound on false alarms, and honest scores of fitted rows."""

from lacforest.calibration._calibrator import NoveltyCalibrator
from lacforest.calibration._selection import Selection

__all__ = ["NoveltyCalibrator", "Selection"]

"""Estimators of theta, the share of new rows among unlabelled ones."""

from lacforest.mixture._base import ThetaEstimator, ThetaWarning
from lacforest.mixture._best_bin import BestBin
from lacforest.mixture._diagnostics import Finding, ThetaReport, diagnose
from lacforest.mixture._display import RatioCurveDisplay
from lacforest.mixture._kernel_mean_embedding import KernelMeanEmbedding
from lacforest.mixture._rank_mixture import RankMixture
from lacforest.mixture._registry import ThetaEstimate, estimate_theta, make_estimator
from lacforest.mixture._score_table import Scores

__all__ = [
    "BestBin",
    "Finding",
    "KernelMeanEmbedding",
    "RankMixture",
    "RatioCurveDisplay",
    "Scores",
    "ThetaEstimate",
    "ThetaEstimator",
    "ThetaReport",
    "ThetaWarning",
    "diagnose",
    "estimate_theta",
    "make_estimator",
]

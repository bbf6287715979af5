"""Estimators of theta, the share of new rows among unlabelled ones, and of class shares."""

from lacforest.mixture._base import ThetaEstimator, ThetaWarning
from lacforest.mixture._best_bin import BestBin
from lacforest.mixture._diagnostics import ThetaReport, diagnose
from lacforest.mixture._display import RatioCurveDisplay
from lacforest.mixture._kernel_mean_embedding import KernelMeanEmbedding
from lacforest.mixture._rank_mixture import RankMixture
from lacforest.mixture._share_mixture import ShareMixture
from lacforest.mixture.registry import estimate_theta, make_estimator

__all__ = [
    "BestBin",
    "KernelMeanEmbedding",
    "RankMixture",
    "RatioCurveDisplay",
    "ShareMixture",
    "ThetaEstimator",
    "ThetaReport",
    "ThetaWarning",
    "diagnose",
    "estimate_theta",
    "make_estimator",
]

"""Estimators of theta, the share of new rows among unlabelled ones."""

from lacforest.mixture._base import ThetaEstimator
from lacforest.mixture._best_bin import BestBin
from lacforest.mixture._kernel_mean_embedding import KernelMeanEmbedding
from lacforest.mixture._rank_mixture import RankMixture
from lacforest.mixture._registry import ThetaEstimate, estimate_theta, make_estimator
from lacforest.mixture._score_table import Scores

__all__ = [
    "BestBin",
    "KernelMeanEmbedding",
    "RankMixture",
    "Scores",
    "ThetaEstimate",
    "ThetaEstimator",
    "estimate_theta",
    "make_estimator",
]

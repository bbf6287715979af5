"""Fit and predict on Dask: forests on tables that no single machine holds.

Importing this package imports no dask; fitting does.
"""

from lacforest.dask.cluster import ClusterError
from lacforest.dask.estimators import DaskLACExtraTreesClassifier, DaskLACForestClassifier

__all__ = ["ClusterError", "DaskLACExtraTreesClassifier", "DaskLACForestClassifier"]

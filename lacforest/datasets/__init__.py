"""Datasets of the paper by name, and synthetic data with known posterior."""

from lacforest.datasets._load import list_names, load
from lacforest.datasets._toys import ToyData, make_blobs_with_posterior, make_figure1

__all__ = [
    "ToyData",
    "list_names",
    "load",
    "make_blobs_with_posterior",
    "make_figure1",
]

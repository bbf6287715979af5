"""Datasets of the paper by name, and toy data whose truth is known."""

from lacforest.datasets._load import FOLDER_VARIABLE, Dataset, list_names, load
from lacforest.datasets._toys import ToyData, make_blobs_with_posterior, make_figure1

__all__ = [
    "FOLDER_VARIABLE",
    "Dataset",
    "ToyData",
    "list_names",
    "load",
    "make_blobs_with_posterior",
    "make_figure1",
]

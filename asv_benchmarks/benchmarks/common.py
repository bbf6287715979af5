"""Shared by several benchmarks: cached tables, and a forest with the paper's settings."""

from __future__ import annotations

from functools import cache
from typing import Any

from benchmarks.tables import AugmentedTable, gaussian_table, pixel_table
from lacforest import LACForestClassifier


@cache
def table(name: str) -> AugmentedTable:
    """Return a table small enough for a quick run; compare_peers.py has larger ones."""
    if name == "paper":
        return gaussian_table(1_500, 64, 5)
    if name == "tall":
        return gaussian_table(50_000, 10, 3)
    if name == "wide":
        return pixel_table(3_000)
    return gaussian_table(10_000, 16, 50)


TABLES = ["paper", "tall", "wide", "many classes"]


def forest(data: AugmentedTable, **options: Any) -> LACForestClassifier:
    return LACForestClassifier(theta=data.theta, random_state=0, **options)


def fitted(name: str, **options: Any) -> LACForestClassifier:
    data = table(name)
    return forest(data, **options).fit(data.X, data.y, X_unlabeled=data.X_unlabeled)

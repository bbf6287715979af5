"""Write forest-v6.lac and its predictions. Run once per format version, never to fix a test.

    python tests/data/make_category_golden.py

From version 6 on, a file may contain categories and the sets that split them.
"""

import numpy as np
from make_golden import make_forest, make_queries, write_golden

N_CATEGORIES = 70  # more than one word of a set


def make_categories():
    """The forest of `make_golden`, its third column in categories that tell the classes apart."""
    rng = np.random.default_rng(6)

    def replace(X, first):
        coded = X.copy()
        coded[:, 2] = (first + 3 * rng.integers(0, N_CATEGORIES // 3, len(X))) % N_CATEGORIES
        coded[np.isnan(X)] = np.nan
        return coded

    return make_forest(categorical_features=[2], replace=replace)


def make_category_queries():
    queries = make_queries()
    rng = np.random.default_rng(7)
    # Some categories that the fit has not seen.
    codes = rng.integers(0, N_CATEGORIES + 10, len(queries)).astype(float)
    queries[:, 2] = np.where(np.isnan(queries[:, 2]), np.nan, codes)
    return queries


if __name__ == "__main__":
    write_golden(make_categories(), make_category_queries(), 6)

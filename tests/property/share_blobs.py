"""Labelled rows of known classes, and unlabelled ones of these and of a new one."""

import numpy as np


def blobs(seed, n_known=3, shares=(0.1, 0.3, 0.6), theta=0.3, n_unlabeled=400):
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(n_known + 1, 4)) * 5
    y = np.repeat(np.arange(n_known), 60)
    n_new = round(theta * n_unlabeled)
    deployed = rng.choice(n_known, n_unlabeled - n_new, p=shares)
    truth = np.append(deployed, np.full(n_new, n_known))
    X = centre[y] + rng.normal(size=(len(y), 4))
    return X, y, centre[truth] + rng.normal(size=(n_unlabeled, 4)), truth

"""Small data for deep forests: blobs as tables, and bars as images."""

import numpy as np

from lacforest.neural import DeepLACForestClassifier

_rng = np.random.default_rng(0)


def _blobs(centers, n_rows):
    return np.vstack([np.asarray(c) + _rng.normal(size=(n_rows, 3)) for c in centers])


X = _blobs([[0, 0, 0], [5, 0, 0]], 40)
y = np.repeat([0, 1], 40)
U = _blobs([[0, 0, 0], [5, 0, 0], [2, 8, 0], [2, 8, 0]], 30)
TRUTH = np.repeat([0, 1, -1, -1], 30)


def bars(kinds, n_rows, size=8, channels=1):
    """Greyscale images as bytes: class 0 is a horizontal bar, 1 a vertical bar, 2 a square."""
    images = _rng.integers(0, 40, size=(len(kinds) * n_rows, channels, size, size))
    for number, image in enumerate(images):
        kind, place = kinds[number // n_rows], _rng.integers(1, size - 3)
        where = {
            0: (slice(place, place + 2), slice(None)),
            1: (slice(None), slice(place, place + 2)),
            2: (slice(place, place + 3), slice(1, 4)),
        }[kind]
        image[:, where[0], where[1]] = 220
    return images.astype(np.uint8)


IMAGES, IMAGE_LABELS = bars([0, 1], 40), np.repeat(["flat", "tall"], 40)
UNLABELED_IMAGES = bars([0, 1, 2, 2], 30)
for _shared in (X, y, U, IMAGES, UNLABELED_IMAGES):
    _shared.flags.writeable = False


def small_forest(**parameters):
    """A forest that trains quickly."""
    defaults = {
        "theta": 0.5,
        "depth": 3,
        "hidden": (16,),
        "epochs": 4,
        "batch_size": 32,
        "learning_rate": 0.1,
        "random_state": 0,
        "device": "cpu",
    }
    return DeepLACForestClassifier(**defaults | parameters)


def fitted_forest(**parameters):
    return small_forest(**parameters).fit(X, y, X_unlabeled=U)

"""Three known blobs, deployed rows with a fourth one, and the seven classifiers."""

import numpy as np

from lacforest.baselines import (
    EULACClassifier,
    EVMClassifier,
    GLACClassifier,
    LACUSVMClassifier,
    OSNNClassifier,
    OVRSVMClassifier,
    PACIsolationForestClassifier,
)

_rng = np.random.default_rng(0)
_CENTERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def draw(codes, rng=_rng):
    return _CENTERS[codes] + 0.08 * rng.normal(size=(len(codes), 2))


y = np.repeat([0, 1, 2], 40)
X = draw(y)
# Half of the unlabelled and of the test rows are new. All tables have different lengths.
U = draw(np.concatenate([np.arange(60) % 3, np.full(60, 3)])[:118])
y_test = np.repeat([0, 1, 2, -1], [10, 10, 10, 29])
X_test = draw(np.where(y_test < 0, 3, y_test))
for _shared in (X, y, U, X_test, y_test):
    _shared.flags.writeable = False

# Small enough to be fast, large enough to be accurate.
MODELS = {
    "glac": lambda **options: GLACClassifier(
        **{"theta": 0.5, "max_iter": 400, "learning_rate": 0.1, "random_state": 0} | options
    ),
    "eulac": lambda **options: EULACClassifier(**{"theta": 0.5, "random_state": 0} | options),
    "evm": lambda **options: EVMClassifier(**{"random_state": 0} | options),
    "pac": lambda **options: PACIsolationForestClassifier(
        **{"theta": 0.5, "n_estimators": 100, "max_samples": 0.5, "q": 0.1, "random_state": 0}
        | options
    ),
    "osnn": lambda **options: OSNNClassifier(**{"random_state": 0} | options),
    "lacu": lambda **options: LACUSVMClassifier(
        **{"kernel": "rbf", "gamma": "scale", "theta": 0.5, "random_state": 0} | options
    ),
    "ovr": lambda **options: OVRSVMClassifier(**options),
}
USING = ("glac", "eulac", "pac", "lacu")
IGNORING = ("evm", "osnn", "ovr")

"""Two known blobs, deployed rows with a third one, and checks that a failed fit changes nothing."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from lacforest import LACForestClassifier

_rng = np.random.default_rng(0)


def _blob(center, n_rows):
    return np.asarray(center) + _rng.normal(size=(n_rows, 3))


X = np.vstack([_blob([0, 0, 0], 30), _blob([4, 0, 0], 30)])
y = np.repeat([0, 1], 30)
# As many known as new rows, so theta is 0.5. The number of rows differs from that of X.
U = np.vstack([_blob([0, 0, 0], 20), _blob([4, 0, 0], 20), _blob([2, 6, 0], 40)])
for _shared in (X, y, U):
    _shared.flags.writeable = False


def small_forest(**parameters):
    return LACForestClassifier(**{"n_estimators": 5, "theta": 0.5, "random_state": 0} | parameters)


def fitted_forest(**parameters):
    return small_forest(**parameters).fit(X, y, X_unlabeled=U)


def assert_same_vars(before, after):
    """Assert that the attributes are the same objects under the same names."""
    assert list(after) == list(before)
    assert [name for name in before if after[name] is not before[name]] == []


def assert_refused(error, match, parameters=None, **arguments):
    """Assert that fit raises exactly `error` and leaves estimators, fitted or not, unchanged."""
    arguments = {"X": X, "y": y, "X_unlabeled": U} | arguments
    fresh, fitted = small_forest(), fitted_forest()
    expected = fitted.predict_proba(U)
    for forest in (fresh, fitted):
        forest.set_params(**(parameters or {}))
        before = dict(vars(forest))
        with pytest.raises(error, match=match) as caught:
            forest.fit(**arguments)
        assert caught.type is error
        assert_same_vars(before, vars(forest))
    assert_array_equal(fitted.predict_proba(U), expected)

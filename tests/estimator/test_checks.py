"""scikit-learn's own estimator checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest.mixture import BestBin

_marker = parametrize_with_checks(
    [
        LACForestClassifier(n_estimators=20),
        LACForestClassifier(n_estimators=3, theta=BestBin()),
        LACExtraTreesClassifier(n_estimators=20, n_explorers=20),
    ]
)
_names, _values = _marker.args


# scikit-learn 1.7 names the checks by a generator, and pytest 9 wants a list.
@pytest.mark.parametrize(_names, list(_values), **_marker.kwargs)
def test_scikit_learn_checks(estimator, check):
    check(estimator)

"""scikit-learn's own estimator checks as parameters of a test, for all versions that we allow."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks


def each_check(estimators, **options):
    """Decorator for a test with the arguments `estimator` and `check`.

    scikit-learn 1.7 names the checks by a generator, and pytest 9 wants a list.
    """
    marker = parametrize_with_checks(estimators, **options)
    names, values = marker.args
    return pytest.mark.parametrize(names, list(values), **marker.kwargs)

"""scikit-learn's estimator checks as test parameters, for all supported versions."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks


def each_check(estimators, **options):
    """Decorator for a test with the arguments `estimator` and `check`.

    scikit-learn 1.7 passes the test ids as a generator, but pytest 9 requires a list.
    """
    marker = parametrize_with_checks(estimators, **options)
    names, values = marker.args
    return pytest.mark.parametrize(names, list(values), **marker.kwargs)

"""scikit-learn's own estimator checks."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lacforest import LACForestClassifier


@parametrize_with_checks([LACForestClassifier(n_estimators=20)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)

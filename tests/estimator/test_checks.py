"""scikit-learn's own estimator checks."""

from scikit_learn_checks import each_check

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest.mixture import BestBin


@each_check(
    [
        LACForestClassifier(n_estimators=20),
        LACForestClassifier(n_estimators=3, theta=BestBin()),
        LACExtraTreesClassifier(n_estimators=20, n_explorers=20),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)

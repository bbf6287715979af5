"""Tags say of missing values and sparse tables what a fit does."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import get_tags

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest.baselines import OVRSVMClassifier
from lacforest.calibration import NoveltyCalibrator
from lacforest.discovery import NewClassGroups
from lacforest.mixture import BestBin, KernelMeanEmbedding, RankMixture, ShareMixture

FOREST = LACForestClassifier(n_estimators=5, theta=0.4, random_state=0)
ESTIMATORS = [
    FOREST,
    LACExtraTreesClassifier(n_estimators=5, theta=0.4, random_state=0),
    RankMixture(n_bootstrap=0),
    RankMixture("svc", n_bootstrap=0),
    RankMixture(HistGradientBoostingClassifier(max_iter=3), n_bootstrap=0),
    BestBin(n_bootstrap=0),
    KernelMeanEmbedding(n_bootstrap=0),
    ShareMixture(n_bootstrap=0),
    NewClassGroups(2),
    NoveltyCalibrator(FOREST, random_state=0),
    NoveltyCalibrator(OVRSVMClassifier(), random_state=0),
]


def with_gaps(X):
    X = X.copy()
    X[::9, 0] = np.nan
    return X


def fit(estimator, convert):
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(90, 4)), rng.normal(loc=1.0, size=(120, 4))
    y = np.arange(90) % 2
    X[y == 1] += 3.0
    if isinstance(estimator, NewClassGroups):
        return estimator.fit(convert(U), X_labeled=convert(X), y_labeled=y)
    if isinstance(estimator, RankMixture | BestBin | KernelMeanEmbedding):
        return estimator.fit(convert(X), convert(U))
    return estimator.fit(convert(X), y, X_unlabeled=convert(U))


@pytest.mark.parametrize("kind", ["gaps", "sparse"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: str(estimator)[:40])
def test_tags_are_what_a_fit_takes(estimator, kind):
    tags = get_tags(estimator).input_tags
    allows = tags.allow_nan if kind == "gaps" else tags.sparse
    convert = with_gaps if kind == "gaps" else sparse.csr_matrix
    if allows:
        fit(estimator, convert)
    else:
        with pytest.raises((ValueError, TypeError), match=r"(?i)missing|nan|sparse"):
            fit(estimator, convert)

"""max_samples and max_bins as parameters of both forests."""

import numpy as np
import pytest
from two_blobs import U, X, y

from lacforest import LACExtraTreesClassifier, LACForestClassifier

both = pytest.mark.parametrize("forest", [LACForestClassifier, LACExtraTreesClassifier])
NAN = float("nan")


@both
@pytest.mark.parametrize("bins", [1, 0, -3, 256, 10.0, "many", True, NAN, [8]], ids=str)
def test_max_bins_that_is_no_number_of_bins(forest, bins):
    message = r'max_bins must be "auto", None \(every distinct value apart\) or an integer from 2 '
    with pytest.raises(ValueError, match=message):
        forest(2, theta=0.5, max_bins=bins).fit(X, y, X_unlabeled=U)


@both
@pytest.mark.parametrize("samples", [0, -1, 0.0, 1.5, "all", True, NAN, [0.5]], ids=str)
def test_max_samples_that_is_no_number_of_rows(forest, samples):
    message = r"max_samples must be None \(all rows\), an integer of at least 1 \(rows of a tree\)"
    with pytest.raises(ValueError, match=message):
        forest(2, theta=0.5, max_samples=samples).fit(X, y, X_unlabeled=U)


@both
def test_samples_without_rows(forest):
    message = r"the sample of a tree holds none of the \d+ (un)?labelled rows: raise max_samples"
    with pytest.raises(ValueError, match=message):
        forest(50, theta=0.5, max_samples=1, random_state=0).fit(X, y, X_unlabeled=U)
    with pytest.raises(ValueError, match=message):
        forest(50, max_samples=1, random_state=0).fit(X, y)


@both
def test_samples_that_miss_a_class(forest):
    rng = np.random.default_rng(0)
    table = np.vstack([rng.normal(size=(200, 2)), rng.normal(size=(2, 2)) + 9.0])
    label = np.repeat(["common", "rare"], [200, 2])
    fitted = forest(60, max_samples=0.2, random_state=0).fit(table, label)
    # Most trees have no row of the rare class, but the forest keeps it.
    assert fitted.classes_.tolist() == ["common", "rare"]
    shares = fitted.predict_proba(table[-2:])[:, 1]
    assert ((shares > 0.1) & (shares < 0.7)).all()


@both
def test_a_sample_without_replacement_makes_smaller_trees(forest):
    sizes = []
    for share in (1.0, 0.5, 0.2):
        fitted = forest(20, theta=0.5, max_samples=share, random_state=0)
        sizes.append(len(fitted.fit(X, y, X_unlabeled=U)._forest.nodes))
    assert sizes[0] > sizes[1] > sizes[2]

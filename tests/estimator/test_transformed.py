"""Unlabelled rows that missed the transformation of the labelled ones."""

import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest._input.tables import warn_if_untransformed

X, Y = load_wine(return_X_y=True)
LABELED, UNLABELED = X[:130][::2], X[1::2]
LABELS = Y[:130][::2]


def fit_in_pipeline(step, forest, unlabeled):
    name = forest.__name__.lower()
    model = make_pipeline(step, forest(5, theta=0.3, random_state=0))
    return model.fit(LABELED, LABELS, **{f"{name}__X_unlabeled": unlabeled})


@pytest.mark.parametrize("forest", [LACForestClassifier, LACExtraTreesClassifier])
@pytest.mark.parametrize(
    ("step", "what"),
    [
        (StandardScaler(), "X is standardised, and X_unlabeled is not"),
        (MinMaxScaler(), r"X is scaled to \[0, 1\], and X_unlabeled is not"),
        (QuantileTransformer(n_quantiles=20), r"X is scaled to \[0, 1\]"),
        (PCA(13), "of 13 columns have almost no values in the range of X"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_trap(step, forest, what):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_in_pipeline(step, forest, UNLABELED)
    texts = [str(warning.message) for warning in caught]
    (found,) = [text for text in texts if "X_unlabeled does not look like X" in text]
    assert re.search(what, found)
    assert "unlabeled_label=" in found


def test_a_step_that_changes_the_number_of_columns():
    message = "13 features, but X has 5: both .* Inside a Pipeline mark rows by unlabeled_label="
    with pytest.raises(ValueError, match=message):
        fit_in_pipeline(PCA(5), LACForestClassifier, UNLABELED)


@pytest.mark.parametrize("step", [StandardScaler(), MinMaxScaler(), PCA(13)])
def test_rows_transformed_in_the_same_way(step):
    fitted = step.fit(LABELED)
    warn_if_untransformed(fitted.transform(LABELED), fitted.transform(UNLABELED))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_no_alarm(missing):
    rng = np.random.default_rng(0)
    labeled, unlabeled = rng.normal(size=(200, 4)), rng.normal(size=(300, 4))
    unlabeled[:150] += 8  # half of the rows are new in all columns
    for table in (labeled, unlabeled):
        table[rng.random(table.shape) < missing] = np.nan
    warn_if_untransformed(labeled, unlabeled)
    unlabeled[:, 0] += 1e6  # a single column that drifts is not a missed transformation
    warn_if_untransformed(labeled, unlabeled)
    warn_if_untransformed(labeled[:5], unlabeled + 100)
    labeled[:] = np.nan
    warn_if_untransformed(labeled, unlabeled)

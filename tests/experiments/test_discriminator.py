"""The recipe of scikit-learn's forests that the experiments compare with."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lacforest import LACForestClassifier
from lacforest.datasets import make_figure1
from lacforest.experiments import _discriminator
from lacforest.experiments._discriminator import DiscriminatorForest
from lacforest.experiments._evaluation import evaluate


@pytest.fixture
def toy():
    return make_figure1(150, 300, random_state=0)


def test_it_learns_with_the_theta_of_the_forests(toy):
    given = (toy.X_labeled, toy.y_labeled)
    recipe = DiscriminatorForest(3, 1).fit(*given, X_unlabeled=toy.X_unlabeled)
    forest = LACForestClassifier(2, known_shares="labeled", random_state=3)
    forest.fit(*given, X_unlabeled=toy.X_unlabeled)
    assert recipe.theta_ == forest.theta_
    assert evaluate(recipe, toy.X_unlabeled, toy.y_unlabeled, -1)["accuracy"] > 0.85
    assert recipe.classes_[recipe.new_class_index_] == -1


def test_nothing_is_new_where_theta_is_zero(toy, monkeypatch):
    class Nothing:
        theta_ = 0.0

        def __init__(self, **_):
            pass

        def fit(self, *_):
            return self

    monkeypatch.setattr(_discriminator, "RankMixture", Nothing)
    recipe = DiscriminatorForest(0, 1).fit(toy.X_labeled, toy.y_labeled, toy.X_unlabeled)
    probabilities = recipe.predict_proba(toy.X_unlabeled)
    assert not probabilities[:, recipe.new_class_index_].any()
    assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.isin(recipe.classes_[probabilities.argmax(axis=1)], toy.y_labeled).all()

"""The curve that theta was read from: kept by fits and by model files."""

import numpy as np
import pytest
from container_files import rewrite
from model_files import assert_not_loaded
from numpy.testing import assert_array_equal
from two_blobs import U, X, small_forest, y

from lacforest import LACForestClassifier
from lacforest.mixture import BestBin
from lacforest.mixture.curve_points import MOST_POINTS


def fitted(theta="auto"):
    return small_forest(theta=theta, n_estimators=2, random_state=0).fit(X, y, X_unlabeled=U)


def set_curve(path, curve):
    rewrite(path, change_header=lambda header: header["deployment"].update(theta_curve=curve))


@pytest.fixture
def path(tmp_path):
    fitted().save(tmp_path / "a model.lac", compress=False)
    return tmp_path / "a model.lac"


def test_few_points_of_the_curve():
    forest = fitted()
    x, ratio = (values.round(3) for values in forest.theta_estimator_.ratio_curve())
    points = {*zip(x.tolist(), ratio.tolist(), strict=True)}
    found = forest.theta_curve_
    assert 2 < len(found) <= MOST_POINTS
    assert {*zip(found[:, 0].tolist(), found[:, 1].tolist(), strict=True)} <= points
    assert found[0, :2].tolist() == [x[0], ratio[0]]
    assert found[-1, :2].tolist() == [x[-1], ratio[-1]]
    # The fitted curve is that of the same mixture, up to the rounding of both.
    again = forest.theta_estimator_.fitted_curve(found[:, 0])
    assert np.abs(found[:, 2] - again).max() < 0.1


def test_an_estimator_without_a_fitted_curve():
    assert np.isnan(fitted(BestBin(random_state=0)).theta_curve_[:, 2]).all()


def test_a_theta_that_was_given_has_no_curve():
    assert fitted(0.5).theta_curve_ is None
    assert small_forest(n_estimators=2).fit(X, y).theta_curve_ is None


@pytest.mark.parametrize(
    "theta", ["auto", BestBin(random_state=0), 0.5], ids=["auto", "bin", "0.5"]
)
def test_files_keep_it(theta, tmp_path):
    forest = fitted(theta)
    forest.save(tmp_path / "model.lac")
    loaded = LACForestClassifier.load(tmp_path / "model.lac")
    assert_array_equal(loaded.theta_curve_, forest.theta_curve_)
    loaded.save(tmp_path / "again.lac")
    again = LACForestClassifier.load(tmp_path / "again.lac")
    assert_array_equal(again.theta_curve_, forest.theta_curve_)


def test_a_file_of_an_older_version_has_none(path):
    rewrite(path, change_header=lambda header: header["deployment"].pop("theta_curve"))
    assert LACForestClassifier.load(path).theta_curve_ is None


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        (3, "theta_curve is not three lists"),
        ([[0.5], [1.0]], "theta_curve is not three lists"),
        ([None, [1.0], None], "theta_curve is not a list of numbers"),
        ([[0.5], None, None], "theta_curve is not a list of numbers"),
        ([[0.5], [True], None], "theta_curve is not a list of numbers"),
        ([[0.5], [1.0, 1.0], None], "theta_curve is not the points of a curve"),
        ([[0.5], [1.0], [1.0, 1.0]], "theta_curve is not the points of a curve"),
        ([[], [], []], "theta_curve is not the points of a curve"),
        ([[0.5], [-1.0], None], "theta_curve is not the points of a curve"),
        ([[1.5], [1.0], None], "theta_curve is not over shares of rows"),
        ([[0.5], [float("inf")], None], "theta_curve holds numbers that are not finite"),
    ],
)
def test_files_with_other_things_in_its_place(path, curve, message):
    set_curve(path, curve)
    assert_not_loaded(path, message)

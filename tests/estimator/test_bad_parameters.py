"""Invalid parameters: messages name the argument and the reason; the estimator is unchanged."""

import numpy as np
import pytest
from sklearn.base import clone
from two_blobs import U, X, assert_refused, fitted_forest, small_forest, y

from lacforest._input.parameters import check_max_features
from lacforest.mixture import BestBin

NAN = float("nan")


@pytest.mark.parametrize("theta", [0, 1, 0.0, 1.0, -0.1, 1.5, NAN, np.inf, np.float32(2)])
def test_theta_out_of_range(theta):
    assert_refused(ValueError, r"theta must lie strictly between 0 and 1, got", {"theta": theta})


@pytest.mark.parametrize(
    "theta",
    [
        "0.5",
        "AUTO",
        "best_bin",
        None,
        True,
        np.True_,
        [0.5],
        np.array(0.5),
        0.5j,
        BestBin,
        ...,
        len,
    ],
    ids=str,
)
def test_theta_that_is_neither_number_nor_estimator(theta):
    message = r'theta must be "auto", a number strictly between 0 and 1, or an estimator of '
    assert_refused(TypeError, message + r"lacforest\.mixture, got", {"theta": theta})


def test_a_refused_theta_draws_no_random_numbers():
    # A RandomState is a parameter as well, and drawing from it changes it in place.
    random_state = np.random.RandomState(3)
    expected = random_state.get_state()[1].copy()
    forest = small_forest(theta=7, random_state=random_state)
    with pytest.raises(ValueError, match="theta"):
        forest.fit(X, y, X_unlabeled=U)
    assert random_state.get_state()[1].tolist() == expected.tolist()


@pytest.mark.parametrize("gamma", [-0.1, 0.500001, 1, NAN, np.inf])
def test_gamma_out_of_range(gamma):
    assert_refused(ValueError, r"gamma must lie in \[0, 0\.5\], got .* share", {"gamma": gamma})


@pytest.mark.parametrize("gamma", ["0.1", None, False, [0.1], 0.1j])
def test_gamma_that_is_no_number(gamma):
    assert_refused(TypeError, r"gamma must be a number in \[0, 0\.5\], got", {"gamma": gamma})


@pytest.mark.parametrize("cap", [0, -1.0, NAN, np.inf, "1", True, [1.0]], ids=str)
def test_pseudo_cap_that_is_no_positive_number(cap):
    message = r"pseudo_cap must be a positive number or None: the most pseudo-labelled rows of a"
    assert_refused(ValueError, message, {"pseudo_cap": cap})


@pytest.mark.parametrize("gamma", [0, 0.0, np.float32(0.05)])
def test_gamma_may_be_zero_or_of_numpy(gamma):
    assert fitted_forest(gamma=gamma).predict(U).shape == (len(U),)


@pytest.mark.parametrize("name", ["n_estimators", "max_depth", "min_samples_leaf"])
@pytest.mark.parametrize("value", [0, -1])
def test_counts_below_one(name, value):
    assert_refused(ValueError, rf"{name} must be at least 1, got {value}", {name: value})


@pytest.mark.parametrize("value", [1, 0, -5])
def test_min_samples_split_below_two(value):
    assert_refused(
        ValueError,
        rf"min_samples_split must be at least 2, got {value}",
        {"min_samples_split": value},
    )


@pytest.mark.parametrize("name", ["n_estimators", "min_samples_split", "min_samples_leaf"])
@pytest.mark.parametrize("value", [2.0, 0.5, NAN, True, "5", None, [5]])
def test_counts_that_are_no_integers(name, value):
    assert_refused(TypeError, rf"{name} must be an integer, got", {name: value})


@pytest.mark.parametrize("value", [2.0, True, "5", [5]])
def test_max_depth_that_is_no_integer(value):
    assert_refused(TypeError, r"max_depth must be an integer or None, got", {"max_depth": value})


def test_integers_of_numpy_are_integers():
    forest = fitted_forest(
        n_estimators=np.int64(4),
        max_depth=np.int8(3),
        min_samples_split=np.uint8(3),
        min_samples_leaf=np.int32(2),
    )
    assert len(forest.estimators_) == 4


@pytest.mark.parametrize("value", [0, 1, "True", None])
def test_bootstrap_is_a_boolean(value):
    assert_refused(TypeError, r"bootstrap must be True or False, got", {"bootstrap": value})


@pytest.mark.parametrize(
    ("max_features", "n_features", "expected"),
    [
        ("sqrt", 1, 1),
        ("sqrt", 15, 3),
        ("sqrt", 16, 4),
        ("log2", 1, 1),  # log2(1) is zero, and a node needs a feature
        ("log2", 31, 4),
        ("log2", 32, 5),
        (None, 7, 7),
        (1, 7, 1),
        (np.int64(7), 7, 7),
        (0.5, 7, 3),
        (1.0, 7, 7),
        (0.01, 7, 1),
        (np.float32(0.5), 4, 2),
    ],
)
def test_max_features_gives_tau_as_documented(max_features, n_features, expected):
    assert check_max_features(max_features, n_features) == expected


@pytest.mark.parametrize("value", [0, -1, 4])
def test_max_features_beyond_the_features(value):
    message = rf"max_features must lie between 1 and the number of features, 3, got {value}"
    assert_refused(ValueError, message, {"max_features": value})


@pytest.mark.parametrize("value", [0.0, -0.5, 1.5, NAN, "auto", "SQRT", True, [1], 1j])
def test_max_features_of_another_kind(value):
    message = r'max_features must be "sqrt", "log2", None, an integer, or a share in \(0, 1\], got'
    assert_refused(ValueError, message, {"max_features": value})


@pytest.mark.parametrize("value", ["seed", 1.5])
def test_random_state_that_is_no_seed(value):
    assert_refused(ValueError, "cannot be used to seed", {"random_state": value})


@pytest.mark.parametrize("value", [-1, 2**32])
def test_a_seed_out_of_range(value):
    assert_refused(ValueError, "Seed must be between 0 and", {"random_state": value})


def test_n_jobs_of_zero():
    assert_refused(ValueError, "n_jobs", {"n_jobs": 0})


@pytest.mark.parametrize("value", ["2", 1.5])
def test_n_jobs_that_is_no_integer(value):
    assert_refused(TypeError, r"n_jobs must be an integer or None, got", {"n_jobs": value})


@pytest.mark.parametrize("value", ["loud", None])
def test_verbose_that_is_no_integer(value):
    assert_refused(TypeError, r"verbose must be an integer, got", {"verbose": value})


@pytest.mark.parametrize("class_weight", [{5: 1.0}, {"0": 1.0}, {0: 1.0, 7: 2.0}, {(0, 1): 5.0}])
def test_class_weight_of_a_label_that_is_not_there(class_weight):
    assert_refused(
        ValueError,
        r"class_weight names labels that are not in y: \[(5|'0'|7|\(0, 1\))\]",
        {"class_weight": class_weight},
    )


@pytest.mark.parametrize("factor", [-1, NAN, np.inf, "2", None, True])
def test_class_weight_with_a_bad_factor(factor):
    assert_refused(
        ValueError,
        "class_weight of 1 must be finite and not negative, got",
        {"class_weight": {1: factor}},
    )


def test_class_weight_with_another_word():
    message = r'class_weight must be a dict, "balanced" or None, got \'balanced_subsample\''
    assert_refused(ValueError, message, {"class_weight": "balanced_subsample"})


@pytest.mark.parametrize("class_weight", [3, 1.0, [1, 2], [{0: 1}], True])
def test_class_weight_of_another_type(class_weight):
    message = r'class_weight must be a dict, "balanced" or None, got'
    assert_refused(TypeError, message, {"class_weight": class_weight})


def test_class_weight_that_leaves_nothing_says_so():
    assert_refused(ValueError, r"class_weight.*nothing is left", {"class_weight": {0: 0.0, 1: 0.0}})


def test_bad_parameters_are_kept_until_fit():
    # The contract of scikit-learn: __init__ and set_params store parameters, fit validates them.
    forest = small_forest(theta="much", gamma=None, n_estimators=-1)
    assert clone(forest).get_params() == forest.get_params()
    assert fitted_forest().set_params(theta=9).predict(U).shape == (len(U),)

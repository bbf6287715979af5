"""Every error message of the compared methods."""

import numpy as np
import pytest
from blobs import MODELS, U, X, X_test, y
from scipy import sparse
from sklearn.exceptions import NotFittedError

every_method = pytest.mark.parametrize("name", list(MODELS))


@pytest.mark.parametrize(
    ("name", "parameters", "error", "message"),
    [
        ("glac", {"theta": 1.5}, ValueError, "theta must lie strictly between 0 and 1"),
        ("glac", {"theta": None}, TypeError, "theta must be"),
        ("glac", {"features": "cubic"}, ValueError, 'features must be "linear" or "rbf"'),
        ("glac", {"n_components": 0}, ValueError, "n_components must be at least 1"),
        ("glac", {"gamma": "wide"}, TypeError, 'gamma must be "median" or a positive number'),
        ("glac", {"gamma": -1.0}, ValueError, "gamma must be finite and be positive, got -1.0"),
        ("glac", {"q": 0}, ValueError, "q must be finite and be positive, got 0"),
        ("glac", {"q": 1.5}, ValueError, r"q must lie in \(0, 1\], got 1.5"),
        ("glac", {"penalty": -1}, ValueError, "penalty must be finite and not be negative"),
        ("glac", {"penalty": "a"}, TypeError, "penalty must be a number, got 'a'"),
        ("glac", {"penalty_power": 0.5}, ValueError, "penalty_power must be at least 1, got 0.5"),
        ("glac", {"learning_rate": 0.0}, ValueError, "learning_rate must be finite and be pos"),
        ("glac", {"weight_decay": -1.0}, ValueError, "weight_decay must be finite and not be"),
        ("glac", {"max_iter": 1.5}, TypeError, "max_iter must be an integer, got 1.5"),
        ("glac", {"n_jobs": 0}, ValueError, "n_jobs must not be 0"),
        ("eulac", {"gamma": "wide"}, TypeError, 'gamma must be "cv", "median" or a positive'),
        ("eulac", {"gamma": np.inf}, ValueError, "gamma must be finite and be positive, got inf"),
        ("eulac", {"regularization": "much"}, TypeError, 'regularization must be "cv" or a pos'),
        ("eulac", {"regularization": 0.0}, ValueError, "regularization must be finite and be"),
        ("eulac", {"cv": 1}, ValueError, "cv must be at least 2, got 1"),
        ("evm", {"tail_size": "long"}, ValueError, 'tail_size must be "all", "tuned" or an int'),
        ("evm", {"tail_size": 0}, ValueError, "tail_size must be at least 1, got 0"),
        ("evm", {"threshold": "low"}, ValueError, 'threshold must be "tuned" or a number in'),
        ("evm", {"threshold": 2.0}, ValueError, r"threshold must lie in \[0, 1\], got 2.0"),
        ("evm", {"n_fused": 0}, ValueError, "n_fused must be at least 1, got 0"),
        ("evm", {"margin": 0.0}, ValueError, "margin must be finite and be positive, got 0.0"),
        ("evm", {"cover": 1.5}, ValueError, r"cover must lie in \[0, 1\], got 1.5"),
        ("evm", {"n_simulations": 0}, ValueError, "n_simulations must be at least 1, got 0"),
        ("pac", {"theta": 0.0}, ValueError, "theta must lie strictly between 0 and 1"),
        ("pac", {"q": "few"}, TypeError, r"q must be a number in \[0, 1\], got 'few'"),
        ("pac", {"q": -0.1}, ValueError, r"q must lie in \[0, 1\], got -0.1"),
        ("pac", {"forests": "two"}, ValueError, 'forests must be "per_class" or "one"'),
        ("pac", {"n_estimators": 0}, ValueError, "n_estimators must be at least 1, got 0"),
        ("pac", {"max_samples": "all"}, TypeError, "max_samples must be an integer or a share"),
        ("pac", {"max_samples": 1.0}, ValueError, "max_samples must be a positive integer or a"),
        ("pac", {"max_samples": 0}, ValueError, "max_samples must be a positive integer or a"),
        ("pac", {"C": 0.0}, ValueError, "C must be finite and be positive, got 0.0"),
        ("osnn", {"threshold": "low"}, ValueError, 'threshold must be "tuned" or a number in'),
        ("osnn", {"threshold": -0.5}, ValueError, r"threshold must lie in \[0, 1\], got -0.5"),
        ("osnn", {"n_simulations": 2.5}, TypeError, "n_simulations must be an integer, got 2.5"),
        ("lacu", {"C": -1}, ValueError, "C must be finite and be positive, got -1"),
        ("lacu", {"C_unlabeled": "much"}, TypeError, 'C_unlabeled must be "auto" or a number'),
        ("lacu", {"C_unlabeled": -1.0}, ValueError, "C_unlabeled must be finite and not be neg"),
        ("lacu", {"kernel": "poly"}, ValueError, 'kernel must be "linear" or "rbf", got'),
        ("lacu", {"gamma": "wide"}, TypeError, 'gamma must be "scale", "auto" or a positive'),
        ("lacu", {"ramp": "s"}, TypeError, r"ramp must be a number in \(-1, 0\], got 's'"),
        ("lacu", {"ramp": 0.5}, ValueError, r"ramp must lie in \(-1, 0\], got 0.5"),
        ("lacu", {"balance": 0}, ValueError, "balance must be finite and be positive, got 0"),
        ("lacu", {"push": -1}, ValueError, "push must be finite and not be negative, got -1"),
        ("lacu", {"max_rounds": 0}, ValueError, "max_rounds must be at least 1, got 0"),
        ("lacu", {"decision": "own"}, ValueError, 'decision must be "combined" or "machine"'),
        ("lacu", {"theta": 2.0}, ValueError, "theta must lie strictly between 0 and 1"),
        ("ovr", {"C": "one"}, TypeError, "C must be a number, got 'one'"),
        ("ovr", {"gamma": 0.0}, ValueError, "gamma must be finite and be positive, got 0.0"),
    ],
)
def test_parameters(name, parameters, error, message):
    with pytest.raises(error, match=message):
        MODELS[name](**parameters).fit(X, y, X_unlabeled=U)


@every_method
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"y": None}, ValueError, "Classifier estimator requires y to be passed"),
        ({"y": y[1:]}, ValueError, "y has 119 labels, but X has 120 rows"),
        ({"X": np.where(X < 0, np.nan, X)}, ValueError, "Input X contains NaN"),
        ({"X": sparse.csr_array(X)}, TypeError, "[Ss]parse"),
        ({"X": X.astype(str)}, ValueError, "X contains text"),
        ({"X_unlabeled": U[:, :1]}, ValueError, "X_unlabeled has 1 features, but X has 2"),
        ({"X_unlabeled": U[:0]}, ValueError, "X_unlabeled has no rows: pass rows from deployment"),
        ({"X_unlabeled": np.where(U > 1, np.inf, U)}, ValueError, "X_unlabeled contains infinity"),
        ({"y": y == 1}, ValueError, "y contains boolean labels, which leaves no value for the new"),
    ],
)
def test_rows(name, arguments, error, message):
    with pytest.raises(error, match=message):
        MODELS[name]().fit(**{"X": X, "y": y, "X_unlabeled": U} | arguments)


@every_method
def test_predictions(name):
    with pytest.raises(NotFittedError):
        MODELS[name]().predict(X)
    with pytest.raises(NotFittedError):
        MODELS[name]().novelty_score(X)
    model = MODELS[name]().fit(X, y, X_unlabeled=U)
    with pytest.raises(ValueError, match="X has 1 features, but"):
        model.predict(X_test[:, :1])
    with pytest.raises(ValueError, match="contains NaN"):
        model.novelty_score(np.full((1, 2), np.nan))


@pytest.mark.parametrize("name", ["evm", "osnn", "ovr", "lacu"])
def test_one_class_is_too_few(name):
    with pytest.raises(ValueError, match="needs rows of two or more known classes, but y has 1"):
        MODELS[name]().fit(X, np.zeros(len(X), dtype=int), X_unlabeled=U)


@pytest.mark.parametrize("name", ["glac", "eulac", "pac"])
def test_one_class_is_enough(name):
    own, deployed = X[y == 0], np.vstack([X[y == 0], U[60:]])
    model = MODELS[name](theta=58 / 98).fit(own, y[y == 0], X_unlabeled=deployed)
    assert (model.predict(X_test[-20:]) == -1).mean() > 0.8
    assert (model.predict(X[y == 0]) == 0).mean() > 0.8


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("ovr", {}, "with two known classes one of the two machines accepts every row"),
        ("osnn", {}, "tuning the threshold needs three known classes, and y has two"),
        ("evm", {"tail_size": "tuned"}, "tuning needs three known classes, and y has two"),
        ("evm", {"threshold": "tuned"}, "tuning needs three known classes, and y has two"),
    ],
)
def test_two_classes_are_warned_of(name, parameters, message):
    two = y < 2
    with pytest.warns(UserWarning, match=message) as caught:
        MODELS[name](**parameters).fit(X[two], y[two])
    assert len(caught) == 1

"""Every error message about input: problem, place, remedy. A failed fit changes nothing."""

import numpy as np
import pytest
import torch
from neural_toys import (
    IMAGE_LABELS,
    IMAGES,
    UNLABELED_IMAGES,
    U,
    X,
    bars,
    fitted_forest,
    small_forest,
    y,
)
from scipy import sparse
from torch.utils.data import Dataset, IterableDataset

from lacforest.neural import DeepLACForestClassifier


def with_value(rows, value, place):
    changed = np.array(rows, dtype=np.float32)
    changed[place] = value
    return changed


def assert_refused(error, match, parameters=None, images=False, **arguments):
    """Assert that fit raises exactly `error`, and that a fitted forest is unchanged."""
    data = (IMAGES, IMAGE_LABELS, UNLABELED_IMAGES) if images else (X, y, U)
    arguments = dict(zip(("X", "y", "X_unlabeled"), data, strict=True)) | arguments
    forest = fitted_forest().set_params(**(parameters or {}))
    before = dict(vars(forest))
    with pytest.raises(error, match=match) as caught:
        forest.fit(**arguments)
    assert caught.type is error
    assert list(vars(forest)) == list(before)
    assert all(vars(forest)[name] is before[name] for name in before)


class Items(Dataset):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, number):
        return self.items[number]


class Stream(IterableDataset):
    def __iter__(self):
        return iter([])


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"X": with_value(X, np.nan, (3, 1))}, "Input X contains NaN"),
        ({"X_unlabeled": with_value(U, np.inf, (3, 1))}, "Input X_unlabeled contains infinity"),
        (
            {"X": torch.tensor(with_value(X, np.nan, (3, 1)))},
            r"X contains NaN, first in row 3 at \(1,\)",
        ),
        ({"X_unlabeled": U[:, :2]}, "X_unlabeled has 2 features, but X has 3"),
        ({"X_unlabeled": U[:0]}, "X_unlabeled has no rows"),
        ({"X": torch.zeros(0, 3)}, "X has no rows"),
        ({"X_unlabeled": torch.zeros(4, 2)}, r"rows of shape \(2,\), but X has \(3,\)"),
        ({"y": None}, "requires y to be passed"),
        ({"y": y[:5]}, "y has 5 labels, but X has 80 rows"),
        ({"X": X[:, None]}, r"a grey image has one channel, X\[:, None\]"),
        ({"X": torch.zeros(4, 1, 1, 2, 2)}, "neither rows of a table nor images"),
        ({"X": np.zeros((4, 1, 0, 3))}, "which hold nothing"),
        ({"X": np.full((80, 1, 8, 8), "a")}, "holds values of type <U1, which are no pixels"),
        ({"X": torch.zeros(80, 3, dtype=torch.complex64)}, "dense tensor of real numbers"),
        ({"X": np.array([["a", "b"]] * 80)}, "X contains text"),
        ({"X": Items([])}, "X has no rows"),
        (
            {"X": Items([torch.zeros(3)] * 80), "y": None},
            "y is None and row 0 of X is no pair of row and label",
        ),
        (
            {"X": Items([torch.zeros(3)] * 79 + [torch.zeros(2)])},
            r"row 79 of X has the shape \(2,\), but row 0 has \(3,\)",
        ),
        (
            {"X": Items([torch.zeros(3)] * 79 + [torch.full((3,), float("nan"))])},
            "X contains NaN, first in row 79",
        ),
    ],
)
def test_rows(arguments, match):
    assert_refused(ValueError, match, **arguments)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"X": Stream()}, "X is a dataset without a length"),
        ({"X": Items(["text"] * 80)}, "row 0 of X is str, which is no tensor: add a transform"),
        ({"X_unlabeled": sparse.csr_array(U)}, "X_unlabeled is sparse: a network takes dense rows"),
        ({"X": sparse.csr_array(X)}, "Sparse data was passed"),
    ],
)
def test_forms(arguments, match):
    assert_refused(TypeError, match, **arguments)


@pytest.mark.parametrize(
    ("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_pixels_that_are_no_numbers(value, name):
    images = with_value(IMAGES, value, (7, 0, 2, 5))
    assert_refused(
        ValueError, rf"X contains {name}, first in row 7 at \(0, 2, 5\)", images=True, X=images
    )
    forest = small_forest(epochs=1).fit(IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES)
    with pytest.raises(ValueError, match=f"X contains {name}, first in row 7"):
        forest.predict(images)


def test_large_but_finite_pixels_are_no_nan():
    images = IMAGES.astype(np.float32)
    images[0] = 1e38
    small_forest(epochs=1, learning_rate=1e-3, final_learning_rate=0.0).fit(
        IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES
    )
    with pytest.raises(ValueError, match="X contains infinity"):
        small_forest(epochs=1).fit(IMAGES * 1e300, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES)


def test_other_images_than_in_fit():
    forest = small_forest(epochs=1).fit(IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES)
    for other, shape in ((bars([0], 3, size=9), "1, 9, 9"), (bars([0], 3, channels=3), "3, 8, 8")):
        with pytest.raises(
            ValueError, match=rf"\({shape}\), but .* fitted on rows of shape \(1, 8"
        ):
            forest.predict(other)
    with pytest.raises(ValueError, match="X_unlabeled has rows of shape"):
        small_forest().fit(IMAGES, IMAGE_LABELS, X_unlabeled=bars([0], 3, size=9))
    with pytest.raises(ValueError, match="rows of shape"):
        forest.predict(np.zeros((3, 64)))
    with pytest.raises(ValueError, match="3 features"):
        fitted_forest().predict(np.zeros((2, 4)))


def test_the_network_overflows_in_prediction():
    forest = small_forest(epochs=1).fit(IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES)
    far = np.full((2, 1, 8, 8), 0.5, dtype=np.float32)
    far[1] = np.where(np.indices((8, 8)).sum(axis=0) % 2, 3e38, -3e38)
    with pytest.raises(ValueError, match=r"overflows on 1 row.*first on row 1"):
        forest.predict_proba(far)


@pytest.mark.parametrize(
    ("encoder", "match"),
    [
        ("mlp", "the mlp encoder takes tables, but the rows are images of shape"),
        ("vgg16", "at least 32 x 32 pixels, got 8 x 8: use the cnn encoder"),
        (torch.nn.Conv2d(3, 4, 3), r"cannot take a batch of shape \(2, 1, 8, 8\)"),
        (torch.nn.Linear(5, 4), r"cannot take a batch .* check the channels and the size"),
        (torch.nn.Sequential(torch.nn.Flatten(0)), r"returned the shape \(128,\) for a batch of 2"),
        (torch.nn.Conv2d(1, 2, 8, padding="valid"), None),
    ],
)
def test_encoders_that_do_not_fit(encoder, match):
    if match is None:
        small_forest(encoder=encoder, epochs=1).fit(
            IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES
        )
    else:
        assert_refused(ValueError, match, {"encoder": encoder}, images=True)


class Mean(torch.nn.Module):
    """An encoder that drops the batch dimension."""

    def forward(self, rows):
        return rows.mean(dim=0)


class Text(torch.nn.Module):
    def forward(self, rows):
        return "features"


class Nothing(torch.nn.Module):
    def forward(self, rows):
        return rows[:, :0]


def test_encoders_that_return_nonsense():
    assert_refused(ValueError, "the first dimension must be the batch", {"encoder": Mean()})
    assert_refused(TypeError, "must return a tensor of floats, got features", {"encoder": Text()})
    assert_refused(ValueError, "returned no features", {"encoder": Nothing()})
    assert_refused(TypeError, "must return a torch.nn.Module, got 3", {"encoder": lambda shape: 3})
    assert_refused(ValueError, "the cnn encoder takes images", {"encoder": "cnn"})
    with pytest.raises(ValueError, match="needs at least 4 x 4 pixels, got 2 x 2"):
        small_forest().fit(
            IMAGES[..., :2, :2], IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES[..., :2, :2]
        )


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"batch_size": 1}, ValueError, "batch_size=1 is less than the 2 known classes"),
        ({"theta": 0.0}, ValueError, "theta must lie strictly between 0 and 1, got 0.0"),
        ({"theta": 1.0}, ValueError, "theta must lie strictly between 0 and 1, got 1.0"),
        ({"theta": "half"}, TypeError, 'theta must be "auto", a number'),
        ({"device": "cuda"}, ValueError, "device 'cuda' is not available here.*device='cpu'"),
        ({"device": "toaster"}, ValueError, "device 'toaster' is not available here"),
        ({"device": 3.5}, ValueError, "device 3.5 is not available here"),
        ({"n_estimators": 0}, ValueError, "n_estimators must be at least 1"),
        ({"depth": 1}, ValueError, "depth must be at least 2"),
        ({"depth": 17}, ValueError, "depth must be at most 16, got 17"),
        ({"depth": 2.5}, TypeError, "depth must be an integer"),
        ({"encoder": "resnet"}, ValueError, "encoder must be one of auto, mlp, cnn, vgg16"),
        ({"encoder": 3}, TypeError, "encoder must be a name"),
        ({"hidden": 16}, TypeError, "hidden must be a list of layer sizes"),
        ({"hidden": (0,)}, ValueError, "a layer of hidden must be at least 1"),
        ({"lambda_ce": -1.0}, ValueError, "lambda_ce must be at least 0 and finite"),
        ({"lambda_ce": "1"}, TypeError, "lambda_ce must be a number"),
        ({"epochs": 0}, ValueError, "epochs must be at least 1"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate must be above 0 and finite"),
        ({"learning_rate": np.nan}, ValueError, "learning_rate must be above 0 and finite"),
        ({"final_learning_rate": 0.5}, ValueError, "final_learning_rate=0.5 is above"),
        ({"momentum": 1.5}, ValueError, "momentum must be at least 0 and at most 1"),
        ({"weight_decay": -1e-3}, ValueError, "weight_decay must be at least 0"),
        ({"max_grad_norm": 0.0}, ValueError, "max_grad_norm must be above 0"),
        (
            {"precision": "int8"},
            ValueError,
            "precision must be one of auto, float32, bfloat16, float16",
        ),
        ({"early_stopping": 1}, TypeError, "early_stopping must be True or False"),
        ({"patience": 0}, ValueError, "patience must be at least 1"),
        ({"validation_fraction": 0.0}, ValueError, "validation_fraction must be above 0 and at"),
        (
            {"early_stopping": True, "validation_fraction": 0.001},
            ValueError,
            "validation_fraction=0.001 holds out no labelled row of the 80",
        ),
        ({"callbacks": [3]}, TypeError, "callbacks must be a list of functions"),
        ({"checkpoint": 3}, TypeError, "checkpoint must be a path or None"),
        ({"checkpoint_every": 0}, ValueError, "checkpoint_every must be at least 1"),
        ({"resume": "yes"}, TypeError, "resume must be True or False"),
        ({"resume": True}, ValueError, "resume=True needs a file to go on from"),
        ({"verbose": -1}, ValueError, "verbose must be at least 0"),
        ({"new_label": 1}, ValueError, "new_label 1 is already a label in y"),
    ],
)
@pytest.mark.skipif(torch.cuda.is_available(), reason="one message is about a missing GPU")
def test_parameters(parameters, error, match):
    assert_refused(error, match, parameters)


def test_too_few_unlabelled_rows_to_hold_out():
    assert_refused(
        ValueError,
        "holds out 0 of 3 unlabelled rows: some must be held out",
        {"early_stopping": True},
        X_unlabeled=U[:3],
    )


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"y_val": y}, "y_val and X_unlabeled_val go with X_val, which is None"),
        ({"X_val": X}, "X_val needs its labels: pass y_val"),
        ({"X_val": X, "y_val": y[:3]}, "y_val has 3 labels, but X_val has 80 rows"),
        (
            {"X_val": X, "y_val": y + 1, "X_unlabeled_val": U},
            "y_val holds 2, which is no label of y: with X_unlabeled_val",
        ),
        (
            {"X_val": X, "y_val": y + 1, "X_unlabeled": None},
            "y_val holds 2, which is no label of y, and without unlabelled rows",
        ),
        (
            {"X_val": X, "y_val": y, "X_unlabeled": None, "X_unlabeled_val": U},
            "X_unlabeled_val is given, but the fit has no unlabelled rows",
        ),
    ],
)
def test_validation_rows(arguments, match):
    assert_refused(ValueError, match, **arguments)


def test_unlabelled_rows_given_twice():
    assert_refused(ValueError, "given twice", {"unlabeled_label": -7})
    assert_refused(
        ValueError, "y contains no label", {"unlabeled_label": 0}, X_unlabeled=None, y=np.zeros(80)
    )


def test_not_fitted():
    forest = DeepLACForestClassifier()
    for method in (forest.predict, forest.novelty_score, forest.leaf_probabilities):
        with pytest.raises(Exception, match="is not fitted yet"):
            method(X)
    with pytest.raises(Exception, match="is not fitted yet"):
        forest.save("nowhere")

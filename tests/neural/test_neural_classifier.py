"""The contract of the classifier, for all supported forms of rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from neural_toys import (
    IMAGE_LABELS,
    IMAGES,
    TRUTH,
    UNLABELED_IMAGES,
    U,
    X,
    fitted_forest,
    small_forest,
    y,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch.utils.data import Dataset, TensorDataset

from lacforest.mixture import BestBin, KernelMeanEmbedding, RankMixture
from lacforest.neural import CNNEncoder, DeepForest, MLPEncoder, VGG16Encoder
from lacforest.neural._encoders import make_encoder


@pytest.fixture(scope="module")
def forest():
    return fitted_forest(epochs=60)


def test_fitted_attributes(forest):
    assert_array_equal(forest.classes_, [-1, 0, 1])
    assert_array_equal(forest.known_classes_, [0, 1])
    assert (forest.new_label_, forest.new_class_index_, forest.theta_) == (-1, 0, 0.5)
    assert forest.n_features_in_ == 3
    assert forest.input_shape_ == (3,)
    assert forest.leaf_proportions_.shape == (3, 4, 3)
    assert set(forest.history_) == {"learning_rate", "loss", "gini", "cross_entropy"}
    assert forest.n_epochs_ == 60
    assert isinstance(forest.module_, DeepForest)


def test_predictions(forest):
    probabilities = forest.predict_proba(U)
    assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-14)
    assert_array_equal(forest.predict(U), forest.classes_[probabilities.argmax(axis=1)])
    assert_array_equal(forest.novelty_score(U), probabilities[:, 0])
    assert_allclose(forest.predict_log_proba(U), np.log(probabilities))
    assert (forest.predict(U) == TRUTH).mean() > 0.95


def test_probabilities_are_leaf_probabilities_times_proportions(forest):
    mu = forest.leaf_probabilities(U).astype(float)
    internal = np.einsum("rtb,tbk->rk", mu, forest.leaf_proportions_) / 3
    assert_allclose(forest.predict_proba(U), internal[:, [2, 0, 1]], atol=1e-6)


def test_order_and_number_of_rows_change_no_bit(forest):
    whole = forest.predict_proba(U)
    assert_array_equal(forest.predict_proba(U[::-1])[::-1], whole)
    assert_array_equal(np.vstack([forest.predict_proba(row[None]) for row in U[:5]]), whole[:5])


def test_the_same_seed_gives_the_same_bits_and_another_does_not():
    one, same, other = (fitted_forest(random_state=seed) for seed in (1, 1, 2))
    assert_array_equal(one.predict_proba(U), same.predict_proba(U))
    assert one.history_ == same.history_
    assert (one.predict_proba(U) != other.predict_proba(U)).any()


def test_generators_of_torch_are_left_alone():
    torch.manual_seed(7)
    before = torch.get_rng_state()
    forest = small_forest(encoder="cnn").fit(IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(8)
    again = small_forest(encoder="cnn").fit(IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES)
    assert_array_equal(forest.novelty_score(IMAGES), again.novelty_score(IMAGES))


def test_without_unlabelled_rows_it_is_a_plain_forest():
    forest = small_forest(epochs=40).fit(X, y)
    assert_array_equal(forest.classes_, [0, 1])
    assert forest.theta_ is None
    assert forest.score(X, y) > 0.95
    with pytest.raises(ValueError, match="without unlabelled rows and has no new class"):
        forest.novelty_score(X)


def test_unlabelled_rows_marked_in_y():
    table = np.vstack([X, U])
    labels = np.append(y, np.full(len(U), -7))
    marked = small_forest(unlabeled_label=-7).fit(table, labels)
    assert_array_equal(marked.predict_proba(U), fitted_forest().predict_proba(U))


def test_text_labels():
    forest = small_forest().fit(X, np.where(y == 0, "a", "b"), X_unlabeled=U)
    assert forest.classes_.tolist() == ["<new>", "a", "b"]


def test_frames_keep_their_names():
    names = ["u", "v", "w"]
    frame = pd.DataFrame(X, columns=names)
    forest = small_forest().fit(frame, y, X_unlabeled=pd.DataFrame(U, columns=names))
    assert forest.feature_names_in_.tolist() == names
    assert_array_equal(
        forest.predict_proba(pd.DataFrame(U, columns=names)), fitted_forest().predict_proba(U)
    )
    with pytest.raises(ValueError, match="feature names"):
        forest.predict(pd.DataFrame(U, columns=["u", "w", "v"]))


def test_tensors_are_tables_too():
    forest = small_forest().fit(torch.tensor(X), torch.tensor(y), X_unlabeled=torch.tensor(U))
    expected = fitted_forest()
    assert_array_equal(forest.predict_proba(torch.tensor(U)), expected.predict_proba(U))
    assert_array_equal(forest.predict_proba(U), expected.predict_proba(U))


def test_large_offsets_lose_no_digits():
    # In float32, neighbouring values near 1.7e9 differ by 128.
    moved = small_forest(epochs=40).fit(X + 1.7e9, y, X_unlabeled=U + 1.7e9)
    assert (moved.predict(U + 1.7e9) == TRUTH).mean() > 0.95


def test_constant_columns_and_far_outliers_are_harmless(forest):
    constant = np.c_[X, np.full(len(X), 3.3)]
    small_forest().fit(constant, y, X_unlabeled=np.c_[U, np.full(len(U), 3.3)])
    assert np.isfinite(forest.predict_proba([[1e300, -1e300, 0]])).all()


class Lazy(Dataset):
    """Images that are generated on access, with or without labels."""

    def __init__(self, images, labels=None):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.images)

    def __getitem__(self, number):
        image = torch.tensor(self.images[number])
        return image if self.labels is None else (image, self.labels[number])


def test_images_in_all_forms_give_the_same_forest():
    arguments = {"epochs": 2}
    expected = small_forest(**arguments).fit(IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES)
    assert expected.input_shape_ == (1, 8, 8)
    assert expected.n_features_in_ == 64
    assert isinstance(expected.module_.encoder, CNNEncoder)
    codes = (IMAGE_LABELS == "tall").astype(int)
    shares = expected.predict_proba(IMAGES)
    for labeled, labels, unlabeled in [
        (torch.tensor(IMAGES), codes, torch.tensor(UNLABELED_IMAGES)),
        (IMAGES / np.float32(255), codes, UNLABELED_IMAGES / np.float32(255)),
        (Lazy(IMAGES), codes, Lazy(UNLABELED_IMAGES)),
        (Lazy(IMAGES, codes), None, Lazy(UNLABELED_IMAGES, np.zeros(120))),
        (
            TensorDataset(torch.tensor(IMAGES), torch.tensor(codes)),
            None,
            TensorDataset(torch.tensor(UNLABELED_IMAGES)),
        ),
    ]:
        forest = small_forest(**arguments).fit(labeled, labels, X_unlabeled=unlabeled)
        assert_array_equal(forest.predict_proba(labeled), shares)


def test_images_are_learned():
    truth = np.repeat(["flat", "tall", "<new>", "<new>"], 30)
    accuracies = []
    # About one initialisation in eight puts a known class into a leaf of the new class.
    for seed in range(3):
        forest = small_forest(epochs=80, batch_size=128, random_state=seed)
        forest.fit(IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES)
        accuracies.append((forest.predict(UNLABELED_IMAGES) == truth).mean())
    assert np.median(accuracies) > 0.9


def test_own_module_is_trained_on_and_left_as_it_is():
    own = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU())  # 4 x 6 x 6, flattened
    before = [parameter.detach().clone() for parameter in own.parameters()]
    forest = small_forest(encoder=own).fit(IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES)
    assert all(torch.equal(a, b) for a, b in zip(own.parameters(), before, strict=True))
    assert not torch.equal(forest.module_.encoder[0].weight, before[0])
    assert forest.module_.forest.n_features == 144
    assert clone(forest).encoder is not own


def test_own_function_is_given_the_shape_of_a_row():
    shapes = []

    def make(shape):
        shapes.append(shape)
        return torch.nn.Linear(shape[0], 5)

    forest = small_forest(encoder=make).fit(X, y, X_unlabeled=U)
    assert shapes == [(3,)]
    assert forest.module_.forest.n_features == 5


def test_named_encoders():
    assert isinstance(make_encoder("auto", (3,), (8,)), MLPEncoder)
    assert isinstance(make_encoder("auto", (1, 28, 28), (8,)), CNNEncoder)
    vgg = make_encoder("auto", (3, 32, 32), (8,))
    assert isinstance(vgg, VGG16Encoder)
    assert sum(isinstance(layer, torch.nn.Conv2d) for layer in vgg.modules()) == 13
    assert sum(isinstance(layer, torch.nn.BatchNorm2d) for layer in vgg.modules()) == 13
    assert vgg(torch.zeros(2, 3, 32, 32)).shape == (2, 128)
    cnn = CNNEncoder()
    assert cnn(torch.zeros(2, 1, 28, 28)).shape == (2, 390)
    assert cnn.layers[7].in_features == 3136
    assert MLPEncoder(3, (8, 7))(torch.zeros(2, 3)).shape == (2, 7)


def test_theta_is_estimated():
    forest = small_forest(theta="auto").fit(X, y, X_unlabeled=U)
    assert isinstance(forest.theta_estimator_, RankMixture)
    assert abs(forest.theta_ - 0.5) < 0.15
    of_paper = KernelMeanEmbedding(subsample=1000, n_subsamples=10, n_bootstrap=0)
    embedded = small_forest(theta=of_paper).fit(X, y, X_unlabeled=U)
    assert abs(embedded.theta_ - 0.5) < 0.15
    by_bins = small_forest(theta=BestBin(n_bootstrap=10)).fit(X, y, X_unlabeled=U)
    assert by_bins.theta_interval_[0] <= by_bins.theta_ <= by_bins.theta_interval_[1]


def test_theta_of_images_is_estimated_on_flat_rows():
    forest = small_forest(theta=BestBin(n_bootstrap=0), epochs=1)
    forest.fit(IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES)
    assert 0.2 < forest.theta_ < 0.8


def test_pickle(forest):
    again = pickle.loads(pickle.dumps(forest))
    assert_array_equal(again.predict_proba(U), forest.predict_proba(U))


def test_in_a_pipeline():
    table, labels = np.vstack([X, U]), np.append(y, np.full(len(U), -7))
    pipeline = make_pipeline(StandardScaler(), small_forest(unlabeled_label=-7, epochs=20))
    assert (pipeline.fit(table, labels).predict(U) == TRUTH).mean() > 0.9

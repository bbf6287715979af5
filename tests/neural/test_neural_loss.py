"""Definition 2, the loss, and leaf statistics after training."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import neural as naive

from lacforest import AugmentedGiniCriterion
from lacforest.neural import AugmentedGiniLoss, LeafStatistics, augmented_gini_loss
from lacforest.neural._gini import augmented_gini, class_masses, new_share
from lacforest.neural._leaves import class_probabilities


@st.composite
def batches(draw, n_classes=3):
    """Leaf probabilities of labelled and unlabelled rows, labels and theta, of various sizes."""
    seed = draw(st.integers(0, 2**32 - 1))
    depth, n_trees = draw(st.integers(2, 8)), draw(st.integers(1, 5))
    n_labeled, n_unlabeled = draw(st.integers(1, 9)), draw(st.integers(1, 7))
    sharpness = draw(st.sampled_from([0.5, 3.0, 20.0]))
    theta = draw(st.sampled_from([0.0, 0.1, 0.4, 0.9, 1.0]))
    generator = torch.Generator().manual_seed(seed)

    def probabilities(n_rows):
        shape = (n_rows, n_trees, 2 ** (depth - 1))
        logits = sharpness * torch.randn(shape, generator=generator, dtype=torch.float64)
        return logits.softmax(dim=-1)

    y = torch.randint(n_classes, (n_labeled,), generator=generator)
    return probabilities(n_labeled), y, probabilities(n_unlabeled), theta


@given(batches())
def test_loss_is_that_of_the_paper(batch):
    labeled, y, unlabeled, theta = batch
    losses = augmented_gini_loss(labeled, y, unlabeled, theta, 3, reduction="none")
    expected = naive.gini_loss(labeled.tolist(), y.tolist(), unlabeled.tolist(), theta, 3)
    assert_allclose(losses, expected, rtol=1e-9, atol=1e-12)
    mean = augmented_gini_loss(labeled, y, unlabeled, theta, 3)
    assert_allclose(mean, np.mean(expected), rtol=1e-9, atol=1e-12)


@given(batches())
def test_loss_with_cross_entropy(batch):
    labeled, y, unlabeled, theta = batch
    generator = torch.Generator().manual_seed(len(y))
    logits = torch.randn(len(y), 3, generator=generator, dtype=torch.float64)
    parts = AugmentedGiniLoss(theta, 3, lambda_ce=0.7).parts(labeled, y, unlabeled, logits)
    gini = naive.gini_loss(labeled.tolist(), y.tolist(), unlabeled.tolist(), theta, 3)
    entropy = naive.cross_entropy(logits.tolist(), y.tolist())
    assert_allclose(parts.gini, np.mean(gini), rtol=1e-9, atol=1e-12)
    assert_allclose(parts.cross_entropy, entropy, rtol=1e-9)
    assert_allclose(parts.total, np.mean(gini) + 0.7 * entropy, rtol=1e-9)
    loss = AugmentedGiniLoss(theta, 3, lambda_ce=0.7)
    assert loss(labeled, y, unlabeled, logits) == parts.total


def test_number_of_classes_comes_from_y_if_it_must():
    mu = torch.full((4, 1, 2), 0.5)
    y = torch.tensor([0, 2, 1, 2])
    assert augmented_gini_loss(mu, y, mu, 0.3) == augmented_gini_loss(mu, y, mu, 0.3, 3)


def test_loss_by_gradcheck():
    generator = torch.Generator().manual_seed(0)
    logits = [
        torch.randn(n, 2, 4, generator=generator, dtype=torch.float64, requires_grad=True)
        for n in (5, 7)
    ]
    y = torch.tensor([0, 1, 2, 1, 0])

    def loss(labeled, unlabeled):
        return augmented_gini_loss(labeled.softmax(-1), y, unlabeled.softmax(-1), 0.4, 3)

    assert torch.autograd.gradcheck(loss, logits)


@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.95), st.integers(1, 8))
def test_hard_routing_is_definition_1_of_the_compiled_core(seed, theta, n_leaves):
    rng = np.random.default_rng(seed)
    n_classes = 3
    y, leaf = rng.integers(n_classes, size=20), rng.integers(n_leaves, size=20)
    other_leaf = rng.integers(n_leaves, size=30)
    hard = torch.eye(n_leaves, dtype=torch.float64)
    labeled, unlabeled = hard[leaf].unsqueeze(1), hard[other_leaf].unsqueeze(1)
    core = AugmentedGiniCriterion(theta, 20, 30)
    counts = np.array([np.bincount(leaf[y == k], minlength=n_leaves) for k in range(n_classes)])
    weights = np.bincount(other_leaf, minlength=n_leaves)
    expected = [core.impurity(counts[:, b], weights[b]) for b in range(n_leaves)]
    classes = class_masses(labeled, torch.from_numpy(y), n_classes) / 20
    shares = unlabeled.mean(dim=0)
    assert_allclose(augmented_gini(classes, shares, theta)[0], expected, atol=1e-12)
    loss = augmented_gini_loss(labeled, torch.from_numpy(y), unlabeled, theta, n_classes)
    assert_allclose(loss, np.dot(weights / 30, expected), atol=1e-12)

    statistics = LeafStatistics(n_classes, 1, n_leaves)
    statistics.add_labeled(labeled, torch.from_numpy(y))
    statistics.add_unlabeled(unlabeled)
    found = statistics.proportions(theta)[0]
    for b in range(n_leaves):
        if counts[:, b].sum() + weights[b] > 0:
            assert_allclose(found[b], core.proportions(counts[:, b], weights[b]), atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("tiny", [0.0, 1e-45, 1e-30, 1e-13])
def test_leaves_without_mass_are_finite(dtype, tiny):
    # Leaf 0: labelled only. Leaf 1: unlabelled only. Leaf 2: nothing. Leaf 3: both.
    labeled = torch.tensor([[[0.5, tiny, tiny, 0.5]]] * 4, dtype=dtype, requires_grad=True)
    unlabeled = torch.tensor([[[tiny, 0.5, tiny, 0.5]]] * 3, dtype=dtype, requires_grad=True)
    y = torch.tensor([0, 1, 1, 0])
    loss = augmented_gini_loss(labeled, y, unlabeled, 0.4, 2)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(labeled.grad).all()
    assert torch.isfinite(unlabeled.grad).all()


def test_new_share_of_bare_leaves():
    labeled, unlabeled = torch.tensor([0.5, 0.0, 0.0]), torch.tensor([0.0, 0.5, 0.0])
    assert_array_equal(new_share(labeled, unlabeled, 0.4), [0.0, 1.0, 0.0])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_masses_are_summed_in_float32(dtype):
    generator = torch.Generator().manual_seed(0)
    mu = torch.randn(600, 2, 8, generator=generator).softmax(-1)
    y = torch.randint(3, (300,), generator=generator)
    exact = augmented_gini_loss(mu[:300], y, mu[300:], 0.4)
    half = augmented_gini_loss(mu[:300].to(dtype), y, mu[300:].to(dtype), 0.4)
    assert half.dtype == torch.float32
    assert_allclose(half, exact, rtol=1e-2)
    with torch.autocast("cpu", torch.bfloat16):
        assert augmented_gini_loss(mu[:300], y, mu[300:], 0.4) == exact


def test_compiled_loss_is_the_same():
    generator = torch.Generator().manual_seed(0)
    mu = torch.randn(30, 2, 8, generator=generator).softmax(-1)
    y = torch.randint(3, (10,), generator=generator)
    compiled = torch.compile(augmented_gini_loss, fullgraph=True, backend="aot_eager")
    assert_allclose(
        compiled(mu[:10], y, mu[10:], 0.4, 3),
        augmented_gini_loss(mu[:10], y, mu[10:], 0.4, 3),
        rtol=1e-6,
    )


@given(batches(), st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_streamed_statistics_are_those_of_one_batch(batch, cuts):
    labeled, y, unlabeled, theta = batch
    whole, streamed = (LeafStatistics(3, *labeled.shape[1:]) for _ in range(2))
    whole.add_labeled(labeled, y)
    whole.add_unlabeled(unlabeled)
    for part, of_part in zip(labeled.split(cuts[0]), y.split(cuts[0]), strict=True):
        streamed.add_labeled(part, of_part)
    for part in unlabeled.split(cuts[-1]):
        streamed.add_unlabeled(part)
    found = streamed.proportions(theta)
    assert_allclose(found, whole.proportions(theta), rtol=1e-9, atol=1e-12)
    assert_allclose(found.sum(dim=-1), 1.0, rtol=1e-9)


@given(batches())
def test_predictions_are_those_of_the_paper(batch):
    labeled, y, unlabeled, theta = batch
    statistics = LeafStatistics(3, *labeled.shape[1:])
    statistics.add_labeled(labeled, y)
    statistics.add_unlabeled(unlabeled)
    shares = [
        [
            naive.proportions(
                labeled[:, tree, leaf].tolist(),
                y.tolist(),
                unlabeled[:, tree, leaf].tolist(),
                theta,
                3,
            )
            for leaf in range(labeled.shape[2])
        ]
        for tree in range(labeled.shape[1])
    ]
    found = statistics.proportions(theta)
    assert_allclose(found, shares, rtol=1e-8, atol=1e-12)
    probabilities = class_probabilities(unlabeled, found)
    for row, of_row in zip(unlabeled.tolist(), probabilities, strict=True):
        of_trees = naive.tree_probabilities(row, shares)
        assert_allclose(of_row, np.mean(of_trees, axis=0), rtol=1e-8, atol=1e-12)


def test_a_leaf_that_nothing_reaches_knows_what_holds_everywhere():
    statistics = LeafStatistics(2, 1, 2)
    statistics.add_labeled(torch.tensor([[[1.0, 0.0]]] * 4), torch.tensor([0, 0, 0, 1]))
    statistics.add_unlabeled(torch.tensor([[[1.0, 0.0]]] * 2))
    assert_allclose(statistics.proportions(0.4)[0, 1], [0.45, 0.15, 0.4])


def test_without_unlabelled_rows_nothing_is_new():
    statistics = LeafStatistics(2, 1, 2)
    statistics.add_labeled(torch.tensor([[[0.5, 0.5]]] * 4), torch.tensor([0, 0, 0, 1]))
    assert_allclose(statistics.proportions(0.0)[0, 0], [0.75, 0.25, 0.0])


def test_statistics_without_labelled_rows():
    with pytest.raises(ValueError, match="no labelled row was counted"):
        LeafStatistics(2, 1, 2).proportions(0.4)


MU = torch.full((4, 2, 4), 0.25)
Y = torch.tensor([0, 1, 1, 0])


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((MU[:, 0], Y, MU, 0.4), r"mu_labeled must have the shape \(n_rows, n_trees, n_leaves\)"),
        ((MU, Y, MU[:0], 0.4), "mu_unlabeled must have the shape .* at least one row"),
        ((MU, Y, MU[:, :1], 0.4), "of different forests"),
        ((MU, Y[:3], MU, 0.4), "one class code for each of the 4 rows"),
        ((MU, Y, MU, 1.5), "theta must lie between 0 and 1, got 1.5"),
        ((MU, Y, MU, float("nan")), "theta must lie between 0 and 1, got nan"),
        ((MU, Y, MU, 0.4, 2, "sum"), 'reduction must be "mean" or "none", got \'sum\''),
    ],
)
def test_bad_arguments(arguments, match):
    with pytest.raises(ValueError, match=match):
        augmented_gini_loss(*arguments)


def test_bad_theta_of_the_module():
    with pytest.raises(ValueError, match="theta must lie between 0 and 1"):
        AugmentedGiniLoss(theta=-0.1, n_classes=2)
    assert "theta=0.4" in repr(AugmentedGiniLoss(0.4, 2))

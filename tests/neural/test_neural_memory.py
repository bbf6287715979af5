"""The leaf memory: running shares with gradients of the batch."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import neural as naive

from lacforest.neural import AugmentedGiniLoss, LeafMemory, augmented_gini_loss

N_CLASSES, N_TREES, N_LEAVES = 3, 2, 4


def batch(seed, n_labeled=5, n_unlabeled=7):
    generator = torch.Generator().manual_seed(seed)
    shape = (N_TREES, N_LEAVES)
    labeled, unlabeled = (
        torch.randn(n, *shape, generator=generator, dtype=torch.float64).softmax(-1)
        for n in (n_labeled, n_unlabeled)
    )
    return labeled, torch.randint(N_CLASSES, (n_labeled,), generator=generator), unlabeled


def memory(factor):
    return LeafMemory(N_CLASSES, N_TREES, N_LEAVES, factor).double()


def loss(rows, kept):
    labeled, y, unlabeled = rows
    return augmented_gini_loss(labeled, y, unlabeled, 0.4, N_CLASSES, memory=kept)


@given(
    st.integers(0, 2**31), st.integers(1, 4), st.sampled_from([0.0, 0.5, 0.9]), st.integers(1, 6)
)
def test_values_are_those_of_the_running_shares(seed, n_batches, factor, n_labeled):
    kept, rows = memory(factor), []
    for number in range(n_batches):
        rows.append(batch(seed + number, n_labeled))
        found = loss(rows[-1], kept)
    lists = [tuple(part.tolist() for part in one) for one in rows]
    expected = naive.remembered_gini_loss(lists, 0.4, N_CLASSES, factor)
    assert_allclose(found, np.mean(expected), rtol=1e-9)


def test_factor_zero_is_the_loss_of_the_batch():
    kept = memory(0.0)
    for seed in range(3):
        rows = batch(seed)
        assert loss(rows, kept) == loss(rows, None)


def test_gradients_are_those_of_the_batch_at_the_running_shares():
    """The derivative of G(m + s(x) - s(x_0)) at x_0, with the running shares m held fixed."""
    kept = memory(0.9)
    for seed in range(3):
        loss(batch(seed), kept)
    labeled, y, unlabeled = batch(9)
    start = [values.log().requires_grad_() for values in (labeled, unlabeled)]

    def remembered(of_labeled, of_unlabeled):
        rows = of_labeled.softmax(-1), y, of_unlabeled.softmax(-1)
        return loss(rows, copy.deepcopy(kept))

    def shifted(of_labeled, of_unlabeled):
        after = copy.deepcopy(kept)
        loss((labeled, y, unlabeled), after)

        class Fixed(torch.nn.Module):
            def forward(self, classes, omega):
                member = torch.nn.functional.one_hot(y, N_CLASSES).double()
                at_start = torch.einsum("nk,ntl->ktl", member, labeled) / len(y)
                return after.classes + classes - at_start, after.unlabeled + omega - unlabeled.mean(
                    0
                )

        return loss((of_labeled.softmax(-1), y, of_unlabeled.softmax(-1)), Fixed())

    assert torch.autograd.gradcheck(shifted, start)
    expected = torch.autograd.grad(shifted(*start), start)
    found = torch.autograd.grad(remembered(*start), start)
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-15)
        assert one.abs().max() > 1e-4


def test_the_memory_is_a_part_of_the_state():
    kept = memory(0.9)
    for seed in range(2):
        loss(batch(seed), kept)
    objective = AugmentedGiniLoss(0.4, N_CLASSES, memory=memory(0.9))
    objective.load_state_dict({f"memory.{k}": v for k, v in kept.state_dict().items()})
    rows = batch(5)
    assert loss(rows, objective.memory) == loss(rows, kept)


@pytest.mark.parametrize("factor", [-0.1, 1.0])
def test_bad_factors(factor):
    with pytest.raises(ValueError, match="factor must be at least 0 and below 1"):
        LeafMemory(2, 1, 2, factor)

"""The compared deep methods: losses and scores against naive versions and closed forms."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from neural_toys import IMAGE_LABELS, IMAGES, UNLABELED_IMAGES
from numpy.testing import assert_allclose, assert_array_equal
from reference import deep_methods as naive

from lacforest.neural import baselines
from lacforest.neural._module import EncoderWithHead
from lacforest.neural._objective import Batch, CrossEntropyObjective
from lacforest.neural._rows import rows_of
from lacforest.neural.baselines._arpl import ReciprocalObjective, ReciprocalPoints
from lacforest.neural.baselines._method import upper_quantile
from lacforest.neural.baselines._osrci import (
    OneVersusRestObjective,
    ZeroLogitObjective,
    append_zero,
    counterfactual_loss,
    make_counterfactuals,
)
from lacforest.neural.baselines._risks import NonNegativeRisk, PenalisedBatchRisk
from lacforest.neural.baselines._weibull_tails import WeibullTails, distances


@st.composite
def logit_batches(draw):
    seed, n_labeled, n_unlabeled = (
        draw(st.integers(0, 2**31)),
        draw(st.integers(1, 6)),
        draw(st.integers(1, 6)),
    )
    generator = torch.Generator().manual_seed(seed)
    scale = draw(st.sampled_from([0.1, 1.0, 5.0]))
    rows = scale * torch.randn(n_labeled + n_unlabeled, 4, generator=generator).double()
    codes = torch.randint(3, (n_labeled,), generator=generator)
    return Batch(rows, codes, None, True), draw(st.sampled_from([0.1, 0.5, 0.9]))


def as_lists(batch):
    labeled, unlabeled = batch.split(batch.rows)
    return labeled.tolist(), batch.codes.tolist(), unlabeled.tolist()


identity = torch.nn.Identity()


@given(logit_batches(), st.sampled_from([0.1, 0.7, 1.0]), st.sampled_from([1.0, 3.0]))
def test_risk_of_glac(given_batch, q, power):
    batch, theta = given_batch
    found = PenalisedBatchRisk(theta, q, 1.2, power)(identity, batch)
    a, b = naive.new_class_risks(
        *as_lists(batch), theta, lambda row, k: naive.generalised_cross_entropy(row, k, q)
    )
    assert_allclose(found["known_risk"], a, rtol=1e-9)
    assert_allclose(found["new_risk"], b, rtol=1e-9, atol=1e-12)
    assert_allclose(found["loss"], a + b + 1.2 * max(0.0, -b) ** power, rtol=1e-9, atol=1e-12)


@given(logit_batches(), st.sampled_from(["logistic", "sigmoid"]))
def test_risk_of_eulac(given_batch, loss):
    batch, theta = given_batch
    found = NonNegativeRisk(theta, loss)(identity, batch)
    a, b = naive.new_class_risks(
        *as_lists(batch), theta, lambda row, k: naive.one_versus_rest(row, k, loss)
    )
    assert_allclose(found["known_risk"], a, rtol=1e-9)
    assert_allclose(found["loss"], -b if b < 0 else a + b, rtol=1e-9, atol=1e-12)


def test_gradient_of_the_generalised_cross_entropy():
    """p_c^q (p - e_c), also where p_c is nearly zero."""
    logits = torch.tensor([[0.3, -1.0, 40.0]], dtype=torch.float64, requires_grad=True)
    for code in range(3):
        loss = PenalisedBatchRisk(0.5, 0.7, 1.0, 3.0).of_rows(logits, torch.tensor([code])).sum()
        (found,) = torch.autograd.grad(loss, logits)
        p = logits.detach().softmax(1)
        expected = p[0, code] ** 0.7 * (p - torch.eye(3, dtype=torch.float64)[code])
        assert_allclose(found, expected, rtol=1e-9, atol=1e-15)


@given(logit_batches())
def test_risks_use_weights(given_batch):
    batch, theta = given_batch
    repeated = torch.cat([batch.rows[:1], batch.rows])
    twice = Batch(repeated, torch.cat([batch.codes[:1], batch.codes]), None, True)
    weight = torch.ones(len(batch.codes), dtype=torch.float64)
    weight[0] = 2.0
    weighted = Batch(batch.rows, batch.codes, weight, True)
    for objective in (PenalisedBatchRisk(theta, 0.7, 1.0, 3.0), NonNegativeRisk(theta, "logistic")):
        expected = objective(identity, twice)
        for name, value in objective(identity, weighted).items():
            assert_allclose(value, expected[name], rtol=1e-9, atol=1e-12)


@given(logit_batches(), st.lists(st.floats(0.1, 1.0), min_size=3, max_size=3))
def test_weights_by_class_give_the_risk_at_other_shares(given_batch, masses):
    """A row of class k weighs its share in deployment over its share among labelled rows."""
    batch, theta = given_batch
    counts = batch.codes.bincount(minlength=3).tolist()
    total = sum(mass for mass, count in zip(masses, counts, strict=True) if count)
    shares = {k: masses[k] / total for k in range(3) if counts[k]}
    factor = [shares.get(k, 0.0) * len(batch.codes) / max(1, counts[k]) for k in range(3)]
    weight = torch.tensor(factor, dtype=torch.float64)[batch.codes]
    weighted = Batch(batch.rows, batch.codes, weight, True)
    for objective, loss in (
        (
            PenalisedBatchRisk(theta, 0.7, 1.0, 3.0),
            lambda row, k: naive.generalised_cross_entropy(row, k, 0.7),
        ),
        (
            NonNegativeRisk(theta, "logistic"),
            lambda row, k: naive.one_versus_rest(row, k, "logistic"),
        ),
    ):
        found = objective(identity, weighted)
        a, b = naive.new_class_risks_by_shares(*as_lists(batch), theta, shares, loss)
        assert_allclose(found["known_risk"], a, rtol=1e-9)
        assert_allclose(found["new_risk"], b, rtol=1e-9, atol=1e-12)


@given(st.integers(0, 2**31), st.integers(1, 6), st.integers(1, 8))
def test_openmax_revision(seed, n_outputs, alpha):
    rng = np.random.default_rng(seed)
    logits, codes = rng.normal(size=(30, n_outputs)), rng.integers(n_outputs, size=30)
    tails = WeibullTails.fit(logits, codes, 5, "euclidean")
    rows = 3 * rng.normal(size=(4, n_outputs))
    shares = tails.outlier_shares(rows, "euclidean")
    assert ((shares >= 0) & (shares <= 1)).all()
    revised = tails.revise(rows, alpha, "euclidean")
    for row, share, found in zip(rows, shares, revised, strict=True):
        expected = naive.openmax(row.tolist(), share.tolist(), min(alpha, n_outputs))
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert_allclose(revised.sum(axis=1), rows.sum(axis=1), atol=1e-9)


def test_rows_near_the_mean_of_their_class_are_no_outliers():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 100)
    logits = np.array([[8.0, 0.0], [0.0, 8.0]])[codes] + rng.normal(size=(200, 2))
    tails = WeibullTails.fit(logits, codes, 20, "euclidean")
    near, far = tails.means, tails.means * 5
    assert_allclose(np.diag(tails.outlier_shares(near, "euclidean")), 0.0, atol=1e-3)
    assert_allclose(np.diag(tails.outlier_shares(far, "euclidean")), 1.0, atol=1e-3)


def test_distances():
    rows, means = np.array([[3.0, 4.0]]), np.array([[0.0, 4.0], [6.0, 8.0]])
    assert_allclose(distances(rows, means, "euclidean"), [[3.0, 5.0]])
    assert_allclose(distances(rows, means, "eucos"), [[3 / 200 + 0.2, 5 / 200]])


def test_reciprocal_points():
    generator = torch.Generator().manual_seed(0)
    head = ReciprocalPoints(5, 3)
    features = torch.randn(4, 5, generator=generator)
    expected = [naive.reciprocal_logits(f, head.points.tolist()) for f in features.tolist()]
    assert_allclose(head(features).detach(), expected, rtol=1e-4, atol=1e-5)


def test_the_hinge_vanishes_beyond_the_radius():
    head = ReciprocalPoints(5, 3)
    module = EncoderWithHead(torch.nn.Identity(), 5, head)
    batch = Batch(torch.randn(6, 5), torch.tensor([0, 1, 2, 0, 1, 2]), None, False)
    objective = ReciprocalObjective(0.1, 1.0, None)
    own = head.squared_distances(batch.rows).gather(1, batch.codes[:, None]).detach()
    head.radius.data.fill_(float(own.max()) + 1.001)
    parts = objective(module, batch)
    assert parts["hinge"] == 0.0
    assert parts["loss"] == parts["cross_entropy"]
    head.radius.data.zero_()
    parts = objective(module, batch)
    assert_allclose(parts["hinge"].item(), float(own.mean()) + 1.0, rtol=1e-5)


def test_losses_with_a_zero_logit():
    logits = torch.tensor([[1.0, -2.0], [0.5, 0.5]])
    batch = Batch(logits, torch.tensor([0, 2]), None, False)
    found = ZeroLogitObjective()(identity, batch)["loss"].item()
    first = -math.log(math.e / (math.e + math.exp(-2) + 1))
    second = -math.log(1 / (2 * math.exp(0.5) + 1))
    assert_allclose(found, (first + second) / 2, rtol=1e-5)
    codes, start = torch.zeros(2, 3), torch.ones(2, 3)
    expected = (math.log(math.e + math.exp(-2) + 1) + math.log(2 * math.exp(0.5) + 1)) / 2 + 3
    assert_allclose(counterfactual_loss(logits, codes, start).item(), expected, rtol=1e-5)


class CirclePoints(torch.nn.Module):
    """In place of an autoencoder: codes are points on the unit circle, and so are rows."""

    def __init__(self):
        super().__init__()
        self.unused = torch.nn.Parameter(torch.zeros(1))

    def encode(self, rows):
        return rows

    def decode(self, codes):
        return codes


def test_counterfactual_rows_leave_their_class():
    """The first coordinate is the class, 1 or -1; rows between the classes are of none."""
    angles = 0.8 + 0.001 * torch.arange(64)
    rows = rows_of(torch.column_stack([angles.cos(), angles.sin()]), "X")
    closed = torch.nn.Linear(2, 2)
    with torch.no_grad():
        closed.weight.copy_(torch.tensor([[5.0, 0.0], [-5.0, 0.0]]))
        closed.bias.fill_(-2.0)
    found = make_counterfactuals(CirclePoints(), closed, rows, 64, 100, np.random.default_rng(0))
    assert_allclose(found.norm(dim=1), 1.0, rtol=1e-5)
    before, after = (
        torch.softmax(append_zero(closed(some)), dim=1)[:, -1]
        for some in (rows.take(np.arange(64)), found)
    )
    assert before.max() < 0.25
    assert after.min() > 0.5
    assert (found[:, 0] > 0).all()  # near the start all the same


def test_closed_losses():
    logits = torch.tensor([[1.0, -2.0]])
    batch = Batch(logits, torch.tensor([0]), None, False)
    expected = -math.log(math.e / (math.e + math.exp(-2)))
    assert_allclose(CrossEntropyObjective()(identity, batch)["loss"].item(), expected, rtol=1e-5)
    expected = (math.log1p(math.exp(-1)) + math.log1p(math.exp(-2))) / 2
    assert_allclose(OneVersusRestObjective()(identity, batch)["loss"].item(), expected, rtol=1e-5)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=40), st.floats(0.01, 1.0))
def test_the_threshold_rejects_no_more_than_asked(scores, share):
    found = upper_quantile(np.array(scores), share)
    assert found in scores
    assert (np.array(scores) > found).mean() <= share + 1e-12


SMALL = {"epochs": 4, "batch_size": 16, "random_state": 0, "device": "cpu"}
GENERATOR = {"generator_epochs": 2, "n_generated": 40, "tuning_epochs": 1}
METHODS = {
    "SoftmaxThresholdClassifier": {},
    "OpenMaxClassifier": {},
    "GOpenMaxClassifier": GENERATOR,
    "OSRCIClassifier": GENERATOR | {"n_steps": 3},
    "ARPLClassifier": {},
    "DeepEULACClassifier": {"theta": 0.5},
    "DeepGLACClassifier": {"theta": 0.5},
}


def make(name, **parameters):
    return getattr(baselines, name)(**SMALL | METHODS[name] | parameters)


def fit(model):
    return model.fit(IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES)


@pytest.mark.parametrize("name", METHODS)
def test_known_images_are_learned(name):
    has_threshold = "threshold" in make(name).get_params()
    # Without a threshold, "new" competes with the known classes and takes longer to learn.
    model = fit(make(name, **({"threshold": 1e9} if has_threshold else {"epochs": 30})))
    assert (model.predict(IMAGES) == IMAGE_LABELS).mean() > 0.9
    if name in ("GOpenMaxClassifier", "OSRCIClassifier"):
        assert model.generated_.shape == (40, 1, 8, 8)
        assert np.isfinite(model.generated_).all()
        assert ((model.generated_ >= 0) & (model.generated_ <= 1)).all()


@pytest.mark.parametrize("name", list(METHODS)[:5])
def test_threshold_rules(name):
    by_unlabeled = fit(make(name, threshold="unlabeled", rejected=0.5))
    is_new = by_unlabeled.predict(UNLABELED_IMAGES) == "<new>"
    assert abs(is_new.mean() - 0.5) <= 0.02
    assert by_unlabeled.__sklearn_tags__().uses_unlabeled
    number = fit(make(name, threshold=-1e9))
    assert set(number.predict(IMAGES)) == {"<new>"}
    closed = make(name, threshold="unlabeled").fit(IMAGES, IMAGE_LABELS)
    assert closed.new_label_ is None


def test_argmax_rule():
    model = fit(make("OSRCIClassifier", threshold="argmax"))
    assert_array_equal(model.predict(IMAGES) == "<new>", model.novelty_score(IMAGES) > 0)


def kill_after(epoch):
    def callback(end):
        if end.epoch == epoch:
            raise KeyboardInterrupt

    return callback


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ARPLClassifier", {"confusing_samples": True}),
        ("DeepGLACClassifier", {}),
        ("OSRCIClassifier", {}),
    ],
)
def test_resume_is_the_same_as_never_stopped(name, parameters, tmp_path):
    """With state of Adam, of the objective's own networks, and of steps after the last epoch."""
    whole = fit(make(name, **parameters))
    parameters = parameters | {"checkpoint": tmp_path / "run", "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt):
        fit(make(name, **parameters, callbacks=[kill_after(2)]))
    resumed = fit(make(name, **parameters, resume=True))
    assert resumed.history_ == whole.history_
    assert_array_equal(resumed.novelty_score(IMAGES), whole.novelty_score(IMAGES))
    if hasattr(whole, "generated_"):
        assert_array_equal(resumed.generated_, whole.generated_)


def test_confusing_samples_are_kept(tmp_path):
    model = fit(make("ARPLClassifier", confusing_samples=True))
    made = model.generated_
    assert made.shape == (256, 1, 8, 8)
    assert ((made >= 0) & (made <= 1)).all()
    assert np.unique(made.round(3), axis=0).shape[0] > 200
    model.save(tmp_path / "model")
    assert_array_equal(baselines.ARPLClassifier.load(tmp_path / "model").generated_, made)
    again = fit(model.set_params(confusing_samples=False))
    assert again.generated_ is None
    again.save(tmp_path / "plain")
    assert baselines.ARPLClassifier.load(tmp_path / "plain").generated_ is None


@pytest.mark.parametrize("name", METHODS)
def test_paper_table(name):
    model = getattr(baselines, name).paper_table(epochs=3)
    assert model.epochs == 3
    assert model.get_params() != getattr(baselines, name)(epochs=3).get_params()


@pytest.mark.parametrize(
    ("name", "parameters", "error", "match"),
    [
        ("SoftmaxThresholdClassifier", {"threshold": "argmax"}, ValueError, "must be one of known"),
        ("SoftmaxThresholdClassifier", {"threshold": np.inf}, ValueError, "must be finite"),
        ("SoftmaxThresholdClassifier", {"rejected": 0.0}, ValueError, "rejected must be above 0"),
        ("OpenMaxClassifier", {"tail_size": 1}, ValueError, "tail_size"),
        ("OpenMaxClassifier", {"alpha": 0}, ValueError, "alpha"),
        ("OpenMaxClassifier", {"distance": "cosine"}, ValueError, "distance must be one of"),
        ("GOpenMaxClassifier", {"generator_channels": "32"}, TypeError, "a list of numbers of"),
        (
            "GOpenMaxClassifier",
            {"generator_channels": (4,) * 5},
            ValueError,
            "too small to be halved",
        ),
        ("GOpenMaxClassifier", {"latent_size": 0}, ValueError, "latent_size"),
        ("OSRCIClassifier", {"n_steps": 0}, ValueError, "n_steps"),
        ("OSRCIClassifier", {"tuning_rate": 0.0}, ValueError, "tuning_rate must be above 0"),
        ("ARPLClassifier", {"temperature": 0.0}, ValueError, "temperature must be above 0"),
        ("ARPLClassifier", {"confusing_samples": 1}, TypeError, "must be True or False"),
        ("DeepEULACClassifier", {"loss": "square"}, ValueError, "loss must be one of logistic"),
        ("DeepGLACClassifier", {"q": 0.0}, ValueError, "q must be above 0"),
        (
            "DeepGLACClassifier",
            {"penalty_power": 0.5},
            ValueError,
            "penalty_power must be at least",
        ),
        ("DeepGLACClassifier", {"optimizer": "lion"}, ValueError, "optimizer must be one of sgd"),
        ("DeepGLACClassifier", {"schedule": "day"}, ValueError, "schedule must be one of epoch"),
        ("DeepGLACClassifier", {"optimizer": lambda *_: 3}, TypeError, "must return a torch.optim"),
    ],
)
def test_bad_parameters(name, parameters, error, match):
    with pytest.raises(error, match=match):
        fit(make(name, **parameters))


def test_a_threshold_by_known_rows_needs_known_rows():
    model = make("SoftmaxThresholdClassifier")
    with pytest.raises(ValueError, match="X_val has no row of a known class"):
        model.fit(IMAGES, IMAGE_LABELS, X_val=IMAGES[:3], y_val=["other"] * 3)

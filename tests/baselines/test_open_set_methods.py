"""OSNN, EVM and OVR-SVM: their formulas and their limits."""

import numpy as np
import pytest
from blobs import X, X_test, y
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose, assert_array_equal
from reference import baselines as naive
from scipy.stats import ortho_group, weibull_min
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from lacforest._utils.weibull import fit_weibull
from lacforest.baselines import EVMClassifier, OSNNClassifier, OVRSVMClassifier
from lacforest.baselines._evm import greedy_cover
from lacforest.baselines._open_simulation import best_threshold, simulate
from lacforest.metrics import new_class_auc

several = settings(max_examples=30)
grid = st.integers(-3, 3).map(float)


@st.composite
def labelled_rows(draw, n_classes=3):
    """Rows of all classes on a grid, many of them equal or at equal distances."""
    n_rows = draw(st.integers(n_classes, 12))
    rows = draw(arrays.arrays(float, (n_rows, 2), elements=grid))
    y = np.concatenate(
        [
            np.arange(n_classes),
            draw(arrays.arrays(int, n_rows - n_classes, elements=st.integers(0, n_classes - 1))),
        ]
    )
    return rows, y


# ---------------------------------------------------------------------------- OSNN


@several
@given(labelled=labelled_rows(), x=arrays.arrays(float, 2, elements=st.floats(-4, 4)))
def test_osnn_is_the_ratio_of_two_distances(labelled, x):
    rows, y = labelled
    osnn = OSNNClassifier(0.8).fit(rows, y)
    ratio = osnn.novelty_score(x[None])[0]
    label, expected = naive.osnn(x, rows, y)
    assert ratio == pytest.approx(expected, abs=1e-12)
    distances = sorted(naive.distance(x, row) for row in rows)
    if abs(expected - 0.8) > 1e-9 and distances[0] < distances[1] - 1e-9:
        assert osnn.predict(x[None])[0] == (label if expected <= 0.8 else -1)


def test_osnn_with_threshold_1_is_the_nearest_neighbour():
    nearest = KNeighborsClassifier(1).fit(X, y)
    assert_array_equal(OSNNClassifier(1.0).fit(X, y).predict(X_test), nearest.predict(X_test))


def test_osnn_ratio_does_not_depend_on_place_turn_or_unit():
    expected = OSNNClassifier(0.5).fit(X, y).novelty_score(X_test)
    turn = ortho_group.rvs(2, random_state=0)
    for move in (lambda A: A + 3.0, lambda A: A @ turn, lambda A: 7.0 * A):
        moved = OSNNClassifier(0.5).fit(move(X), y).novelty_score(move(X_test))
        assert_allclose(moved, expected, rtol=1e-9)


def test_osnn_rejects_what_is_far_away():
    far = np.array([[1e9, 1e9], [-1e9, 0.0]])
    osnn = OSNNClassifier(0.99).fit(X, y)
    assert_allclose(osnn.novelty_score(far), 1.0, atol=1e-6)
    assert_array_equal(osnn.predict(far), -1)


def test_osnn_score_does_not_depend_on_the_threshold():
    scores = [OSNNClassifier(t).fit(X, y).novelty_score(X_test) for t in (0.1, 0.9)]
    assert_array_equal(*scores)


def test_osnn_where_two_classes_coincide():
    osnn = OSNNClassifier(0.9).fit([[0.0], [0.0], [5.0]], [0, 1, 2])
    assert_array_equal(osnn.novelty_score([[0.0], [1.0]]), [1.0, 1.0])
    assert_array_equal(osnn.predict([[0.0], [5.0]]), [-1, 2])


def test_osnn_of_two_classes_accepts_most_known_rows():
    two = y < 2
    with pytest.warns(UserWarning, match="tuning the threshold needs three"):
        osnn = OSNNClassifier().fit(X[two], y[two])
    ratios = []
    for i in np.flatnonzero(two):
        others = np.delete(np.flatnonzero(two), np.flatnonzero(np.flatnonzero(two) == i))
        own = min(naive.distance(X[i], X[j]) for j in others if y[j] == y[i])
        other = min(naive.distance(X[i], X[j]) for j in others if y[j] != y[i])
        ratios.append(min(own, other) / max(own, other))
    assert osnn.threshold_ == pytest.approx(np.quantile(ratios, 0.95))


def test_osnn_tuning_is_a_simulated_open_set():
    osnn = OSNNClassifier(n_simulations=3, random_state=5).fit(X, y)
    seed = np.random.RandomState(5).randint(2**31)
    accuracy = np.zeros(99)
    for part in simulate(y, 3, np.random.default_rng(seed)):
        rows, codes = X[part.fitting], y[part.fitting]
        known = [naive.osnn(X[i], rows, codes) for i in part.known]
        unknown = [naive.osnn(X[i], rows, codes) for i in part.unknown]
        for index in range(99):
            t = (index + 1) / 100
            right = [
                label == y[i] and r <= t for i, (label, r) in zip(part.known, known, strict=True)
            ]
            accuracy[index] += np.mean(right) / 2 + np.mean([r > t for _, r in unknown]) / 2
    assert osnn.threshold_ == (accuracy.argmax() + 1) / 100


def test_a_simulation_keeps_classes_and_rows_apart():
    labels = np.repeat(np.arange(5), [4, 5, 6, 7, 8])
    for part in simulate(labels, 20, np.random.default_rng(0)):
        assert len(set(labels[part.fitting])) == 2
        assert set(labels[part.known]) == set(labels[part.fitting])
        assert not set(labels[part.unknown]) & set(labels[part.fitting])
        everything = np.concatenate(part)
        assert sorted(everything) == list(range(len(labels)))
        assert abs(len(part.fitting) - len(part.known)) <= 2


def test_the_first_of_equally_good_thresholds():
    judged = [(np.array([0.1, 0.2]), np.array([True, False]), np.array([0.8]))]
    grid = np.array([0.05, 0.3, 0.5, 0.9])
    assert best_threshold(judged, grid, np.less_equal) == (0.3, 0.75)


# ---------------------------------------------------------------------------- EVM


@several
@given(samples=arrays.arrays(float, (3, 8), elements=st.floats(2**-6, 10.0, width=32), unique=True))
def test_weibull_is_that_of_scipy(samples):
    shape, scale = fit_weibull(samples)
    for row, own_shape, own_scale in zip(samples, shape, scale, strict=True):
        # Both maximise the same likelihood, which may be flat.
        expected, _, width = weibull_min.fit(row, floc=0)
        ours = weibull_min.logpdf(row, own_shape, scale=own_scale).sum()
        assert ours >= weibull_min.logpdf(row, expected, scale=width).sum() - 1e-6


def test_weibull_of_degenerate_samples():
    shape, scale = fit_weibull(np.array([[2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]]))
    assert np.isfinite(shape).all()
    assert np.isfinite(scale).all()
    assert scale[0] == pytest.approx(2.0)
    assert (scale >= 0).all()


@several
@given(labelled=labelled_rows(), n_fused=st.integers(1, 3), tail=st.integers(2, 5))
def test_evm_is_the_naive_twin(labelled, n_fused, tail):
    rows, y = labelled
    # The values are well separated, so that scipy's fit finds the maximum too.
    rows = rows + np.random.default_rng(0).normal(size=rows.shape)
    evm = EVMClassifier(tail, n_fused=n_fused, cover=None).fit(rows, y)
    # scipy may miss the maximum for very regular samples; then ours must be better.
    laws = naive.evm_inclusions(rows, y, tail)
    order = np.argsort(y, kind="stable")
    ours = list(zip(evm._vectors.shape, evm._vectors.scale, strict=True))
    for index, i in enumerate(order):
        assert_allclose(ours[index], laws[i], rtol=2e-3)
        laws[i] = ours[index]
    x = np.array([0.5, -0.25])
    expected = naive.evm_memberships(x, rows, y, laws, 3, n_fused)
    assert evm.novelty_score(x[None])[0] == pytest.approx(1 - max(expected), abs=1e-9)


@several
@given(covers=arrays.arrays(bool, st.integers(1, 7).map(lambda n: (n, n))))
def test_greedy_cover_is_the_naive_twin(covers):
    covers = covers | np.eye(len(covers), dtype=bool)
    assert greedy_cover(covers).tolist() == naive.greedy_cover(covers.tolist())


def test_evm_at_a_labelled_row_and_away_from_it():
    evm = EVMClassifier(cover=None).fit(X, y)
    assert_allclose(evm.novelty_score(X), 0.0, atol=1e-12)
    ray = np.array([0.0, -1.0]) * np.linspace(0.5, 3, 10)[:, None]
    assert (np.diff(evm.novelty_score(ray)) >= 0).all()
    assert_array_equal(evm.predict([[50.0, 50.0]]), [-1])


def test_evm_does_not_depend_on_the_unit():
    expected = EVMClassifier().fit(X, y).novelty_score(X_test)
    assert_allclose(
        EVMClassifier().fit(1e3 * X, y).novelty_score(1e3 * X_test), expected, atol=1e-9
    )


def test_evm_with_threshold_0_accepts_everything():
    evm = EVMClassifier(threshold=0.0).fit(X, y)
    assert -1 not in evm.predict(np.vstack([X_test, [[1e6, 1e6]]]))


def test_model_reduction_covers_every_row():
    evm = EVMClassifier(cover=0.5, threshold=0.5).fit(X, y)
    assert evm.n_extreme_vectors_ < len(X)
    assert (evm.novelty_score(X) <= 0.5).all()
    assert EVMClassifier(cover=None).fit(X, y).n_extreme_vectors_ == len(X)


def test_evm_with_rows_that_two_classes_share():
    rows, labels = np.vstack([X, X[:3]]), np.concatenate([y, [1, 1, 1]])
    evm = EVMClassifier().fit(rows, labels)
    assert np.isfinite(evm.novelty_score(rows)).all()


def test_evm_takes_all_negatives_if_the_tail_is_longer():
    assert_array_equal(
        EVMClassifier(10_000).fit(X, y).novelty_score(X_test),
        EVMClassifier("all").fit(X, y).novelty_score(X_test),
    )


def test_evm_tunes_what_it_is_asked_to():
    evm = EVMClassifier("tuned", threshold="tuned", n_simulations=2, random_state=0).fit(X, y)
    assert evm.tail_size_ in (10, 20, 50, 100, 200, "all")
    assert 0 < evm.threshold_ < 1
    fixed = EVMClassifier("tuned", n_simulations=2, random_state=0).fit(X, y)
    assert fixed.threshold_ == 0.5
    only = EVMClassifier(threshold="tuned", n_simulations=2, random_state=0).fit(X, y)
    assert only.tail_size_ == 50


# ---------------------------------------------------------------------------- OVR-SVM


def test_ovr_svm_is_one_svm_a_class():
    ovr = OVRSVMClassifier(2.0, gamma=3.0).fit(X, y)
    values = np.column_stack(
        [SVC(C=2.0, gamma=3.0).fit(X, y == code).decision_function(X_test) for code in range(3)]
    )
    assert_allclose(ovr.novelty_score(X_test), -values.max(axis=1), rtol=1e-12)
    expected = np.where(values.max(axis=1) > 0, values.argmax(axis=1), -1)
    assert_array_equal(ovr.predict(X_test), expected)


def test_ovr_svm_of_two_classes_rejects_nothing():
    two = y < 2
    with pytest.warns(UserWarning, match="with two known classes"):
        ovr = OVRSVMClassifier().fit(X[two], y[two])
    machine = SVC(C=1.0).fit(X[two], y[two] == 1)
    everywhere = np.vstack([X_test, [[100.0, 100.0]]])
    assert_allclose(ovr.novelty_score(everywhere), -np.abs(machine.decision_function(everywhere)))
    assert -1 not in ovr.predict(everywhere)


def test_ovr_svm_far_away_tells_its_biases():
    ovr = OVRSVMClassifier().fit(X, y)
    biases = [SVC(C=1.0).fit(X, y == code).intercept_[0] for code in range(3)]
    assert max(biases) < 0
    assert ovr.novelty_score([[1e6, 1e6]])[0] == pytest.approx(-max(biases))
    assert_array_equal(ovr.predict([[1e6, 1e6]]), [-1])


def test_scores_rank_new_rows_without_seeing_one():
    truth = np.repeat([0, -1], [30, 29])
    for model in (OSNNClassifier(0.9), EVMClassifier(), OVRSVMClassifier()):
        assert new_class_auc(truth, model.fit(X, y).novelty_score(X_test), new_label=-1) > 0.98

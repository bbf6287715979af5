"""Streams: the batches, the strategies, and the detector that they are compared with."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lacforest.experiments import _stream, _stream_table, command
from lacforest.experiments._life import LifeJob
from lacforest.experiments._nearest_ensemble import NearestNeighborEnsemble

# The experiment silences the warnings of days on which theta may be zero.
pytestmark = pytest.mark.filterwarnings("ignore::lacforest.mixture.ThetaWarning")


@pytest.fixture(scope="module")
def table():
    """Ten separate classes of 500 rows."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), 500)
    return 8.0 * np.eye(10)[y] + rng.normal(size=(5000, 10)), y


def test_classes_come_and_go(table):
    _, y = table
    stream = _stream.draw_stream(y, np.random.default_rng(1))
    every = np.concatenate([stream.labeled, *stream.batches])
    assert len(np.unique(every)) == len(every)
    assert not np.isin(y[stream.labeled], [stream.steady, stream.returning]).any()
    for day, rows in enumerate(stream.batches):
        shares = np.bincount(y[rows], minlength=10) / len(rows)
        there = day in _stream.DAYS_OF_RETURNING
        assert shares[stream.steady] == pytest.approx(0.15, abs=0.01)
        assert shares[stream.returning] == pytest.approx(0.15 if there else 0, abs=0.01)
    last = np.bincount(y[stream.batches[-1]], minlength=10)
    known = np.delete(last, [stream.steady, stream.returning])
    assert known.max() / known.min() == pytest.approx(2, abs=0.2)


def test_only_the_loop_names_classes(table):
    found = _stream.measure_stream(*table, "days", np.random.default_rng(2))
    assert list(found) == ["frozen", "adapt", "refit", "loop"]
    for name in ("frozen", "adapt", "refit"):
        assert found[name]["named arrival"] == found[name]["asked"] == 0
    assert found["loop"]["asked"] >= 40
    assert found["loop"]["returning named, arrival 9"] > 0.9
    assert found["loop"]["accuracy arrival"] > found["frozen"]["accuracy arrival"]
    lines = _stream_table.make_notes([(LifeJob("toy", "days", 0), found)])
    assert lines[-1].startswith("loop, returning class named and called new: day 3 ")


def test_a_group_of_two_classes_does_not_stop_the_loop(table):
    X, y = table
    stream = _stream.draw_stream(y, np.random.default_rng(1))
    loop = _stream.Loop(X[stream.labeled], y[stream.labeled], 0)
    hidden = stream.steady, stream.returning
    loop.learn(X[stream.batches[4]], lambda rows: np.resize([hidden[0], *hidden], len(rows)))
    assert loop.n_asked == 20
    assert set(hidden) <= set(loop.forest.known_classes_)
    shares = dict(zip(loop.forest.known_classes_, loop.forest.known_shares_, strict=True))
    assert shares[hidden[0]] == pytest.approx(14 / 6 * shares[hidden[1]])


def test_the_setting_of_senne():
    rng = np.random.default_rng(3)
    y = np.repeat(np.arange(3), 1000)
    X = 8.0 * np.eye(3)[y] + rng.normal(size=(3000, 3))
    found = _stream.measure_stream(X, y, "buffers", rng)
    assert found["lacextratrees"]["accuracy arrival"] > 0.95
    assert found["lacextratrees"]["accuracy evening"] > 0.95
    assert found["nearest neighbours"]["accuracy arrival"] > 0.95


def test_an_unknown_point(tmp_path, table):
    with pytest.raises(ValueError, match="there is no point 'weeks': choose from days, buffers"):
        _stream.measure_stream(*table, "weeks", np.random.default_rng(0))


def test_the_command_draws_its_figure(tmp_path, table, capsys):
    np.savez(tmp_path / "toy.npz", X=table[0], y=table[1])
    words = ["--datasets", "toy", "--draws", "1", "--data", str(tmp_path)]
    words += ["--results", str(tmp_path / "r.jsonl"), "--figure", str(tmp_path / "f.png")]
    assert command.main(["stream", *words]) == 0
    assert "named on arrival" in capsys.readouterr().out
    assert (tmp_path / "f.png").stat().st_size > 10_000


def naive_score(balls, row):
    """The score of one row in one sample, from the definition."""
    centers = [center for center, _, _ in balls]
    inside = [
        (radius, neighbor)
        for center, radius, neighbor in balls
        if np.linalg.norm(row - center) <= radius
    ]
    assert len(centers) == len(balls)
    if not inside:
        return 1.0
    radius, neighbor = min(inside)
    return 1.0 - neighbor / radius


def test_scores_of_nearest_neighbours_are_those_of_the_definition():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 2)), np.repeat([3, 5], 30)
    ensemble = NearestNeighborEnsemble(n_samples=4, sample_size=6, random_state=0).fit(X, y)
    rows = rng.normal(size=(25, 2))
    expected = np.zeros((25, 2))
    for k, (centers, radii, neighbor_radii) in enumerate(ensemble._balls):
        for i, center in enumerate(centers):
            gaps = [np.linalg.norm(center - other) for j, other in enumerate(centers) if j != i]
            assert radii[i] == pytest.approx(min(gaps))
        balls = list(zip(centers, radii, neighbor_radii, strict=True))
        expected[:, k // 4] += [naive_score(balls, row) / 4 for row in rows]
    assert_allclose(ensemble.scores(rows), expected)
    assert 0 < (expected < 1).mean() < 1


def test_the_best_threshold_is_found_by_trying_all():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(80, 2)), np.repeat([0, 1], 40)
    X[40:, 0] += 3
    ensemble = NearestNeighborEnsemble(n_samples=5, sample_size=8).fit(X, y)
    rows = np.concatenate([X[::2] + 0.1, rng.normal([0, 4], size=(20, 2))])
    truth = np.concatenate([y[::2], np.full(20, 9)])
    scores = ensemble.scores(rows)
    lowest, named = scores.min(axis=1), scores.argmin(axis=1)
    tried = [
        np.mean(np.where(lowest >= cut, 9, named) == truth) for cut in [*np.unique(lowest), 2.0]
    ]
    assert ensemble.best_accuracy(rows, truth, 9) == pytest.approx(max(tried))

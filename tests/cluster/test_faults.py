"""Workers killed in every stage, many fits, and every number of workers: the nightly checks.

``make cluster-test`` runs them; the small cluster of test_local_cluster.py is part of every run.
"""

import numpy as np
import pytest
from forests import assert_same_forest
from partitions import FORESTS, RecordingEngine, blobs, cut, fit_local, fit_parts, partition

pytest.importorskip("distributed")
import dask
import dask.array as da
from clusters import (
    as_arrays,
    call_within,
    client_of,
    killing,
    late_collection,
    resident_megabytes,
    separate_processes,
    wait_until_empty,
)

from lacforest.dask import (
    ClusterError,
    DaskLACExtraTreesClassifier,
    DaskLACForestClassifier,
)

nightly = pytest.mark.nightly
pytestmark = late_collection

X, y, U = blobs()
OPTIONS = {"theta": 0.5, "rows_per_tree": 250, "max_bins": 30, "random_state": 2}
# Names of all tasks, in the order of a fit.
STAGES = ("rules", "look", "rows", "columns", "merge", "sample", "facts", "code", "bundle", "grow")
STAGES += ("settle", "score", "count", "mark")
OF_EXTRA_TREES = ("freeze", "soften")
KILLS = [(DaskLACForestClassifier, stage) for stage in STAGES]
KILLS += [(DaskLACExtraTreesClassifier, stage) for stage in (*OF_EXTRA_TREES, "bundle", "grow")]


@pytest.fixture(scope="module", params=[1, 2, 4])
def client(request):
    with client_of(request.param) as client:
        yield client


@pytest.fixture(scope="module")
def two_workers():
    with client_of(2) as client:
        yield client


def test_the_stages_are_those_of_a_fit():
    found = {}
    for kind in FORESTS:
        engine = RecordingEngine()
        fit_parts(kind(4, **OPTIONS), partition(X, y, U, cuts=[100]), engine=engine)
        found[kind] = set(engine.stages)
    assert found[DaskLACForestClassifier] == set(STAGES)
    assert found[DaskLACExtraTreesClassifier] | {"mark"} == {*STAGES, *OF_EXTRA_TREES}


@nightly
@pytest.mark.parametrize(("kind", "stage"), KILLS)
def test_a_worker_killed_in_any_stage(two_workers, kind, stage, tmp_path):
    local = fit_local(kind, 4, X, y, U, **OPTIONS)
    table, labels, unlabeled = as_arrays(X, y, U)
    forest = kind(4, client=two_workers, **OPTIONS)
    with killing(two_workers, stage, tmp_path):
        call_within(120, forest.fit, table, labels, X_unlabeled=unlabeled)
    assert_same_forest(local, forest)
    assert wait_until_empty(two_workers) == []


@nightly
def test_tasks_that_kill_every_worker(two_workers, tmp_path):
    table, labels, unlabeled = as_arrays(X, y, U)
    forest = DaskLACForestClassifier(4, client=two_workers, **OPTIONS)
    with (
        killing(two_workers, "grow", tmp_path, n_kills=100),
        pytest.raises(ClusterError, match=r"workers died .* memory"),
    ):
        call_within(300, forest.fit, table, labels, X_unlabeled=unlabeled)
    assert not hasattr(forest, "classes_")
    assert wait_until_empty(two_workers) == []


CUTS = {
    "one partition": [],
    "three": [100, 200],
    "seven": [40, 80, 120, 160, 200, 240],
    "empty ones": [0, 120, 120, 300],
}


def array_of(rows, cuts):
    """A dask array with given partitions, empty ones among them."""
    return da.concatenate(
        [da.from_delayed(dask.delayed(part), part.shape, part.dtype) for part in cut(rows, cuts)]
    )


@nightly
@pytest.mark.parametrize("order", ["mixed", "by class"])
@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("kind", FORESTS)
def test_any_partitions_and_workers_give_the_local_forest(client, kind, cuts, order):
    rows = np.arange(len(y)) if order == "mixed" else np.argsort(y, kind="stable")
    table, labels = X[rows], y[rows]
    local = fit_local(kind, 4, table, labels, U, **OPTIONS)
    forest = kind(4, client=client, **OPTIONS)
    forest.fit(array_of(table, cuts), array_of(labels, cuts), X_unlabeled=array_of(U, cuts))
    assert_same_forest(local, forest)


@nightly
@pytest.mark.parametrize("kind", FORESTS)
def test_memory_stays_flat_over_many_fits(kind, tmp_path, monkeypatch):
    # Logs of the scheduler are bounded, but with their usual length they grow for ten fits.
    monkeypatch.setenv("DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH", "10")
    monkeypatch.setenv("DASK_DISTRIBUTED__DIAGNOSTICS__COMPUTATIONS__MAX_HISTORY", "2")
    table, labels, unlabeled = as_arrays(*blobs(20_000), 4_000)
    sizes = []
    with separate_processes(tmp_path, 2) as client:
        for seed in range(20):
            options = OPTIONS | {"random_state": seed, "rows_per_tree": 5_000}
            kind(4, client=client, **options).fit(table, labels, X_unlabeled=unlabeled)
            assert wait_until_empty(client) == []
            sizes.append(resident_megabytes(client))
    print("MB of scheduler and workers after each fit:", np.round(sizes, 1).T.tolist())
    # The first fits fill pools of memory, which later grow by some megabytes at once. Input that
    # stayed in memory would add 40 MB in ten fits.
    growth = np.mean(sizes[-5:], axis=0) - np.mean(sizes[5:10], axis=0)
    assert (growth < 12.0).all()

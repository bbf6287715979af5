"""A scheduler that goes away, or a client that is closed, ends a fit with an error at once."""

import os
import signal

import pytest
from clusters import (
    Client,
    as_arrays,
    call_within,
    client_of,
    late_collection,
    separate_processes,
    wait_until_empty,
)
from partitions import blobs

import lacforest.dask.fitting as fitting
from lacforest._utils.progress import watching
from lacforest.dask import ClusterError, DaskLACForestClassifier

pytestmark = late_collection

LATER_STAGES = ("drawing the subsample", "growing trees", "selecting rows", "collecting scores")
STAGES = ["looking at partitions"]
STAGES += [pytest.param(stage, marks=pytest.mark.nightly) for stage in LATER_STAGES]


def fit_until(client, stage=None, action=None):
    """A fit during which something happens when the first task of a stage is done."""
    table, labels, unlabeled = as_arrays(*blobs())
    forest = DaskLACForestClassifier(4, theta=0.5, rows_per_tree=250, random_state=0, client=client)
    reached = []

    def watch(what, n_done, n_total):
        if what == stage and not reached:
            reached.append(what)
            action()

    try:
        with watching(watch):
            forest.fit(table, labels, X_unlabeled=unlabeled)
    finally:
        assert reached == ([] if stage is None else [stage])
        assert not hasattr(forest, "classes_")


@pytest.mark.parametrize("stage", STAGES)
def test_a_killed_scheduler(stage, tmp_path):
    with separate_processes(tmp_path, 1) as client:
        scheduler = client.run_on_scheduler(os.getpid)
        with pytest.raises(ClusterError, match=r"scheduler stopped or lost .* fit again"):
            call_within(90, fit_until, client, stage, lambda: os.kill(scheduler, signal.SIGKILL))


@pytest.mark.nightly
def test_a_scheduler_killed_while_the_client_computes(tmp_path, monkeypatch):
    with separate_processes(tmp_path, 1) as client:
        scheduler = client.run_on_scheduler(os.getpid)
        find_bins = fitting._find_bins

        def kill_and_find(*arguments):
            os.kill(scheduler, signal.SIGKILL)
            return find_bins(*arguments)

        monkeypatch.setattr(fitting, "_find_bins", kill_and_find)
        # No task waits, so the client tries to connect again until its own time is up: 20 s.
        with pytest.raises(ClusterError, match="was lost during the fit: check that the scheduler"):
            call_within(90, fit_until, client)


@pytest.mark.nightly
@pytest.mark.parametrize("stage", ["looking at partitions", "growing trees", "selecting rows"])
def test_a_closed_client(stage):
    with client_of(1) as watcher, Client(watcher.cluster) as client:
        with pytest.raises(ClusterError, match="tasks were cancelled"):
            call_within(90, fit_until, client, stage, client.close)
        assert wait_until_empty(watcher) == []

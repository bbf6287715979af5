"""One small cluster of processes on loopback: the same bits, lazy predictions, nothing left."""

import json
import os
import signal
import threading

import numpy as np
import pytest
from forests import assert_same_forest
from numpy.testing import assert_array_equal
from partitions import FORESTS, blobs, fit_local
from sklearn.base import clone

pytest.importorskip("distributed")
import dask.array as da
import dask.dataframe as dd
import pandas as pd
from clusters import (
    as_arrays,
    call_within,
    client_of,
    has_started,
    killing,
    late_collection,
    slowly,
    wait_until_empty,
)

from lacforest.cli import _fit_dask, main
from lacforest.dask import DaskLACForestClassifier
from lacforest.tabular import TabularModel
from lacforest.tabular.fitted_rows import FittedRows

pytestmark = late_collection

X, y, U = blobs()
OPTIONS = {"theta": 0.5, "rows_per_tree": 250, "max_bins": 30, "random_state": 2}


@pytest.fixture(scope="module")
def client():
    with client_of(2) as client:
        yield client


@pytest.mark.parametrize("kind", FORESTS)
def test_a_cluster_grows_the_local_forest(client, kind):
    local = fit_local(kind, 6, X, y, U, **OPTIONS)
    forest = kind(6, client=client, **OPTIONS)
    forest.fit(
        da.from_array(X, (90, 2)), da.from_array(y, 100), X_unlabeled=da.from_array(U, (130, 4))
    )
    assert_same_forest(local, forest)
    rows = da.from_array(U, (130, 2))
    for found, expected in (
        (forest.predict(rows), local.predict(U)),
        (forest.predict_proba(rows), local.predict_proba(U)),
        (forest.novelty_score(rows), local.novelty_score(U)),
        (forest.novelty_score(rows, "exploration"), local.novelty_score(U, "exploration")),
    ):
        assert isinstance(found, da.Array)
        assert found.shape == expected.shape
        assert_array_equal(found.compute(), expected)
    some = rows[rows[:, 0] > 0]  # chunks of unknown sizes
    assert_array_equal(forest.predict(some).compute(), local.predict(U[U[:, 0] > 0]))
    assert clone(forest).client is client


def test_frames_of_unknown_sizes(client):
    names = list("abcd")
    table, others = pd.DataFrame(X, columns=names), pd.DataFrame(U, columns=names)
    kept = (table["a"] > -1).to_numpy()
    local = fit_local(DaskLACForestClassifier, 4, table[kept], y[kept], others, **OPTIONS)
    frame = dd.from_pandas(table.assign(y=y), npartitions=3)
    frame = frame[frame["a"] > -1]
    unlabeled = dd.from_pandas(others, npartitions=2)
    forest = DaskLACForestClassifier(4, client=client, **OPTIONS)
    forest.fit(frame[names], frame["y"], X_unlabeled=unlabeled)
    assert_same_forest(local, forest)
    assert forest.feature_names_in_.tolist() == names
    found = forest.predict(unlabeled).compute()
    assert_array_equal(found, local.predict(others))
    assert_array_equal(found.index, others.index)
    assert forest.predict_proba(unlabeled).compute().columns.tolist() == [-1, 0, 1, 2]


def test_an_error_of_a_task_reaches_the_caller_and_leaves_nothing(client):
    forest = DaskLACForestClassifier(4, client=client, **(OPTIONS | {"rows_per_tree": 1}))
    with pytest.raises(ValueError, match="raise rows_per_tree"):
        forest.fit(da.from_array(X, 90), da.from_array(y, 90), X_unlabeled=da.from_array(U, 130))
    assert not hasattr(forest, "classes_")
    assert wait_until_empty(client) == []


def test_ctrl_c_ends_a_fit_and_leaves_nothing(client):
    table, labels, unlabeled = as_arrays(X, y, U)
    forest = DaskLACForestClassifier(4, client=client, **OPTIONS)

    has_ended = threading.Event()

    def interrupt():
        while not has_started(client, "look"):
            # A fit that has ended already must not leave an interrupt for another test.
            if has_ended.wait(0.02):
                return
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    # A run in the background, by nohup for example, ignores interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            forest.fit(table.map_blocks(slowly, dtype=float), labels, X_unlabeled=unlabeled)
    finally:
        has_ended.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert not hasattr(forest, "classes_")
    assert wait_until_empty(client) == []


def test_a_killed_worker_does_not_change_the_forest(client, tmp_path):
    local = fit_local(DaskLACForestClassifier, 4, X, y, U, **OPTIONS)
    table, labels, unlabeled = as_arrays(X, y, U)
    forest = DaskLACForestClassifier(4, client=client, **OPTIONS)
    with killing(client, "grow", tmp_path):
        call_within(120, forest.fit, table, labels, X_unlabeled=unlabeled)
    assert_same_forest(local, forest)
    assert wait_until_empty(client) == []


def test_two_fits_at_once(client):
    table, labels, unlabeled = as_arrays(X, y, U)
    forests = [kind(4, client=client, **OPTIONS) for kind in FORESTS]
    threads = [
        threading.Thread(target=forest.fit, args=(table, labels), kwargs={"X_unlabeled": unlabeled})
        for forest in forests
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for kind, forest in zip(FORESTS, forests, strict=True):
        assert_same_forest(fit_local(kind, 4, X, y, U, **OPTIONS), forest)
    assert wait_until_empty(client) == []


def test_collections_that_do_not_fit_together(client):
    forest = DaskLACForestClassifier(4, client=client, **OPTIONS)
    table = da.from_array(X, (90, 4))
    with pytest.raises(ValueError, match="y has 299 entries, but X has 300 rows"):
        forest.fit(table, da.from_array(y[1:], 90))
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    labels = dd.from_pandas(pd.Series(y), npartitions=2)
    with pytest.raises(ValueError, match="X and y have different divisions"):
        forest.fit(frame, labels)
    with pytest.raises(ValueError, match="X has 3 partitions and y has 4: divide both at the same"):
        forest.fit(frame, da.from_array(y, 80))
    changing = da.from_array(X, 90).map_blocks(
        lambda block: block + np.random.default_rng().random(), dtype=float
    )
    with pytest.raises(ValueError, match="had other rows when it was computed again"):
        forest.fit(changing, da.from_array(y, 90))


NAMES = list("abcd")


@pytest.fixture
def arguments(tmp_path):
    """Of a fit on folders of Parquet files, which this writes; then --dask."""
    known = pd.DataFrame(X, columns=NAMES).assign(kind=np.array(["x", "y", "z"])[y])
    for folder, frame in (("known", known), ("deployed", pd.DataFrame(U, columns=NAMES))):
        (tmp_path / folder).mkdir()
        frame[:120].to_parquet(tmp_path / folder / "0.parquet")
        frame[120:].to_parquet(tmp_path / folder / "1.parquet")
    arguments = ["fit", str(tmp_path / "known"), "--unlabeled", str(tmp_path / "deployed")]
    arguments += ["--target", "kind", "-o", str(tmp_path / "model.lac"), "--trees", "4"]
    return [*arguments, "--theta", "0.5", "--json", "--dask"]


def check_command(arguments, tmp_path, capsys):
    assert main(arguments) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["labelled_rows"], facts["unlabelled_rows"]) == (300, 300)
    assert facts["classes"] == ["x", "y", "z"]
    model = TabularModel.load(tmp_path / "model.lac")
    assert model.fitted_rows.to_dict() == FittedRows.of(U, X).to_dict()
    scored = model.predict(pd.DataFrame(U, columns=NAMES))
    assert (scored["predicted_label"] == "<new>").sum() == facts["called_new"]


def test_the_command_reads_folders_of_parquet(client, arguments, tmp_path, capsys):
    check_command([*arguments, client.scheduler.address], tmp_path, capsys)
    assert wait_until_empty(client) == []


@pytest.mark.nightly
def test_the_command_starts_a_cluster(arguments, tmp_path, capsys):
    check_command([*arguments, "--jobs", "1"], tmp_path, capsys)


def test_the_command_says_what_is_wrong_with_folders(client, arguments, tmp_path, capsys):
    address = client.scheduler.address
    assert main([*arguments, address, "--target", "a"]) == 2
    told = capsys.readouterr().err
    assert f"{tmp_path}/known has the column 'kind', but {tmp_path}/deployed does not" in told
    assert main([*arguments, address, "--target", "kimd", "--drop", "bb"]) == 2
    told = capsys.readouterr().err
    assert "known has no column 'kimd' (did you mean 'kind'?); it has 'a', 'b'" in told
    assert "--drop bb: neither" in told
    pd.DataFrame(U, columns=NAMES).assign(c="much").to_parquet(tmp_path / "deployed" / "2.parquet")
    assert main([*arguments, address]) == 2
    message = "lacforest: partition 2 of X_unlabeled has columns that are not numbers: ['c']"
    assert message in capsys.readouterr().err
    arguments[1] = str(tmp_path)
    assert main(arguments) == 2
    assert "is not a folder of Parquet files" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:1"])
def test_the_command_says_that_there_is_no_scheduler(arguments, address, capsys, monkeypatch):
    monkeypatch.setattr(_fit_dask, "_PATIENCE", 0.5)
    assert main([*arguments, address]) == 2
    assert f"no Dask scheduler was found at {address} (" in capsys.readouterr().err

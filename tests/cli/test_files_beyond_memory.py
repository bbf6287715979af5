"""Fits on files that are read in chunks: the same forest as from memory, and clear errors."""

import errno
import os
import tempfile

import numpy as np
import pandas as pd
import pytest
from forests import assert_same_forest

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest._coding.stored_table import CodeFile
from lacforest._contract import deployment
from lacforest.cli import main
from lacforest.tabular import TableCoder, TableError, TabularModel, _first_pass, _from_files
from lacforest.tabular._from_files import rows_per_tree

MEMORY = 600 * 2**20
N_ROWS = 2500  # pieces of a file have 1,000 rows or more


def tables(n_rows=N_ROWS):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, n_rows)
    labelled = pd.DataFrame(rng.normal(size=(n_rows, 3)) + label[:, None], columns=list("abc"))
    labelled["city"] = rng.choice(["Bern", "Oslo", "Rome"], n_rows)
    labelled["few"] = rng.integers(0, 9, n_rows)
    labelled["is_new"] = rng.random(n_rows) < 0.5
    deployed = labelled.copy()
    deployed.loc[::2, list("abc")] -= 6.0
    deployed.loc[::11, "b"] = np.nan
    labelled["label"] = np.array(["x", "y", "z"])[label]
    return labelled, deployed


def write(folder, ending, frames):
    paths = folder / f"labelled.{ending}", folder / f"deployed.{ending}"
    for path, frame in zip(paths, frames, strict=True):
        if ending == "parquet":
            frame.to_parquet(path, row_group_size=700)
        else:
            frame.to_csv(path, index=False)
    return paths


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(_first_pass, "_CELL_BYTES", 2**40)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("forest", [LACForestClassifier, LACExtraTreesClassifier])
@pytest.mark.usefixtures("small_pieces")
def test_files_give_the_forest_of_frames(forest, ending, tmp_path):
    frames = tables()
    paths = write(tmp_path, ending, frames)
    options = {"n_estimators": 5, "random_state": 0, "max_bins": 255}
    by_files = TabularModel(forest(**options)).fit_files(
        paths[0], "label", paths[1], max_memory=MEMORY
    )
    by_frames = TabularModel(forest(**options)).fit(frames[0], "label", frames[1])
    assert_same_forest(by_files.forest, by_frames.forest)
    assert by_files.forest.theta_ == by_frames.forest.theta_
    assert by_files.forest.fit_findings_ == by_frames.forest.fit_findings_
    assert by_files.coder.to_dict() == by_frames.coder.to_dict()
    pd.testing.assert_frame_equal(by_files.predict(frames[1]), by_frames.predict(frames[1]))
    assert by_files.fitted_rows.to_dict() == by_frames.fitted_rows.to_dict()


@pytest.mark.usefixtures("small_pieces")
def test_quantiles_of_files_come_from_the_rows_of_smallest_hash(tmp_path, monkeypatch):
    frames = tables()
    paths = write(tmp_path, "parquet", frames)
    monkeypatch.setattr(_first_pass, "SAMPLED_ROWS", 400)
    monkeypatch.setattr("lacforest._coding.bins.SAMPLED_ROWS", 400)
    options = {"n_estimators": 5, "random_state": 0, "max_bins": 255, "theta": 0.5}
    by_files = TabularModel(LACForestClassifier(**options)).fit_files(
        paths[0], "label", paths[1], max_memory=MEMORY
    )
    by_frames = TabularModel(LACForestClassifier(**options)).fit(frames[0], "label", frames[1])
    assert_same_forest(by_files.forest, by_frames.forest)


def test_large_tables_find_theta_by_some_of_their_rows(monkeypatch):
    labelled, deployed = tables(4000)
    monkeypatch.setattr(deployment, "MOST_ROWS", 500)
    forest = LACForestClassifier(10, random_state=0)
    features = list("abc")
    seen = []
    find = deployment.find_theta
    monkeypatch.setattr(
        deployment,
        "find_theta",
        lambda theta, rows, *rest: seen.append(rows) or find(theta, rows, *rest),
    )
    forest.fit(labelled[features], labelled["label"], X_unlabeled=deployed[features])
    assert abs(forest.theta_ - 0.5) < 0.1
    assert [(rows.n_labeled, rows.n_unlabeled) for rows in seen] == [(500, 500)]
    assert len(forest.unlabeled_score_) == 4000


def test_rare_classes_stay_among_the_rows_of_theta(monkeypatch):
    labelled, deployed = tables(4000)
    monkeypatch.setattr(deployment, "MOST_ROWS", 50)
    labelled.loc[:2, "label"] = "rare"
    forest = LACForestClassifier(3, random_state=0, known_shares="labeled")
    forest.fit(labelled[["a", "b"]], labelled["label"], X_unlabeled=deployed[["a", "b"]])
    assert forest.known_classes_.tolist() == ["rare", "x", "y", "z"]


def test_memory_bounds_the_rows_of_trees(tmp_path):
    paths = write(tmp_path, "parquet", tables())
    model = TabularModel(LACForestClassifier(3, theta=0.5, max_samples=0.3, random_state=0))
    model.fit_files(paths[0], "label", paths[1], max_memory=MEMORY)
    assert model.forest.max_samples == 0.3
    assert rows_per_tree(2**31, 10_000_000, 100, 1) < 1_000_000
    assert rows_per_tree(2**31, 10_000_000, 100, 1) > rows_per_tree(2**31, 10_000_000, 200, 1)
    assert rows_per_tree(2**31, 1_000, 100, 1) == 1_000
    message = r"100 trees on 10000000 rows needs \d+ MiB, but max_memory allows 100: allow more"
    with pytest.raises(TableError, match=message):
        rows_per_tree(100 * 2**20, 10_000_000, 100, 1)


def test_rows_of_the_table_take_memory_from_the_trees():
    few, many = (rows_per_tree(2**30, n_rows, 100, 1) for n_rows in (1_000_000, 5_000_000))
    # 48 bytes for each of four million rows; 16 + 24 * 100 bytes for a row of a tree.
    assert few - many == pytest.approx(48 * 4_000_000 / 2_416, abs=1)


@pytest.mark.parametrize(
    ("tables", "options", "error", "message"),
    [
        ((pd.DataFrame(), "b.csv"), {}, TypeError, "a list of names, not from a DataFrame"),
        (([], "b.csv"), {}, TableError, "no table is named"),
        (("a.csv", "b.csv"), {"max_memory": "2GB"}, TypeError, "max_memory must be an integer"),
        (("a.csv", "b.csv"), {"max_memory": 0}, ValueError, "max_memory must be at least 1"),
    ],
)
def test_what_is_no_file_and_no_memory(tables, options, error, message):
    with pytest.raises(error, match=message):
        TabularModel().fit_files(tables[0], "label", tables[1], **options)


def test_exact_codes_need_memory(tmp_path):
    paths = write(tmp_path, "csv", tables(300))
    model = TabularModel(LACForestClassifier(3, max_bins=None))
    with pytest.raises(ValueError, match="max_bins=None keeps all values of a column apart, but"):
        model.fit_files(paths[0], "label", paths[1])


def fit_files(paths, **options):
    return TabularModel(LACForestClassifier(3, theta=0.5)).fit_files(
        paths[0], "label", paths[1], **options
    )


def test_files_of_different_columns(tmp_path):
    labelled, deployed = tables(300)
    paths = write(tmp_path, "parquet", (labelled.drop(columns="b"), deployed))
    message = r"deployed.parquet has the column 'b', but \S*labelled.parquet does not"
    with pytest.raises(TableError, match=message):
        fit_files(paths)


def test_all_problems_of_files_at_once(tmp_path):
    labelled, deployed = tables(300)
    labelled["price"], deployed["price"] = "1,5", 1.5
    labelled["empty"], deployed["empty"] = None, "x"
    deployed["few"], deployed["alone"] = "text", 1
    paths = write(tmp_path, "csv", (labelled.rename(columns={"label": "kind"}), deployed))
    with pytest.raises(TableError) as caught:
        fit_files(paths)
    starts = [
        "column 'price' of",
        "column 'empty' of",
        "has no column 'label' (did you mean 'kind'",
    ]
    starts += ["has the column 'alone'", "column 'few' is of kind"]
    assert len(caught.value.problems) == len(starts)
    for problem, start in zip(caught.value.problems, starts, strict=True):
        assert start in problem


@pytest.mark.usefixtures("small_pieces")
def test_columns_of_files_are_left_out(tmp_path):
    labelled, deployed = tables()
    deployed["label"], labelled["note"], deployed["note"] = None, "x", None
    paths = write(tmp_path, "csv", (labelled, deployed))
    model = TabularModel(LACForestClassifier(3, theta=0.5), TableCoder(drop=["city", "note"]))
    model.fit_files(paths[0], "label", paths[1])
    assert model.coder.feature_names == ["a", "b", "c", "few", "is_new"]
    assert model.coder.dropped_ == {"city": "as requested", "note": "as requested"}
    with pytest.raises(TableError, match=r"drop=\['town'\]: neither"):
        TabularModel(coder=TableCoder(drop=["town"])).fit_files(paths[0], "label", paths[1])


def test_files_of_different_kinds(tmp_path):
    labelled, deployed = tables(300)
    deployed["few"] = "text"
    paths = write(tmp_path, "parquet", (labelled, deployed))
    message = r"column 'few' is of kind number in \S*labelled.parquet and of kind text in \S*depl"
    with pytest.raises(TableError, match=message):
        fit_files(paths)


@pytest.mark.usefixtures("small_pieces")
def test_a_chunk_of_another_kind(tmp_path):
    labelled, deployed = tables(1500)
    deployed["few"] = deployed["few"].astype(object)
    deployed.loc[1400, "few"] = "many"
    paths = write(tmp_path, "csv", (labelled, deployed))
    with pytest.raises(TableError, match=r"deployed.csv.*many"):
        fit_files(paths)


@pytest.mark.usefixtures("small_pieces")
def test_a_chunk_with_infinite_values_is_named(tmp_path):
    labelled, deployed = tables()
    deployed.loc[2100, "a"] = np.inf
    paths = write(tmp_path, "parquet", (labelled, deployed))
    with pytest.raises(TableError, match=r"'a' of \S*deployed.parquet \(chunk 3\) contains inf"):
        fit_files(paths)


@pytest.mark.usefixtures("small_pieces")
def test_a_row_without_a_label(tmp_path):
    labelled, deployed = tables()
    labelled.loc[2100, "label"] = None
    paths = write(tmp_path, "parquet", (labelled, deployed))
    message = r"labelled.parquet \(chunk 3\) has no label in 1 row \(the first is row 2101\)"
    with pytest.raises(TableError, match=message):
        fit_files(paths)


def test_a_file_without_the_target(tmp_path):
    labelled, deployed = tables(300)
    paths = write(tmp_path, "csv", (labelled.drop(columns="label"), deployed))
    with pytest.raises(TableError, match=r"labelled.csv has no column 'label'; it has"):
        fit_files(paths)


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    folder = tmp_path / "codes"
    folder.mkdir()

    def fail(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    paths = write(tmp_path, "csv", tables(300))
    monkeypatch.setattr(os, "posix_fallocate", fail, raising=False)
    with pytest.raises(OSError, match=r"no room for 0 MiB of codes in .*codes: No space left"):
        fit_files(paths, folder=folder)
    assert list(folder.iterdir()) == []


def test_a_failed_fit_leaves_no_codes_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    file = CodeFile(None, 2, 1000)
    file.codes[:] = 7
    assert list(tmp_path.iterdir()) == []  # the file has no name
    file.close()


@pytest.mark.parametrize(
    "change", [lambda frame: frame[:-1], lambda frame: pd.concat([frame, frame[:1]])]
)
@pytest.mark.parametrize("which", ["labelled", "deployed"])
def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch, which, change):
    frames = dict(zip(("labelled", "deployed"), tables(300), strict=True))
    paths = write(tmp_path, "csv", frames.values())
    read_first = _from_files.read_first

    def change_after(*arguments):
        found = read_first(*arguments)
        change(frames[which]).to_csv(tmp_path / f"{which}.csv", index=False)
        return found

    monkeypatch.setattr(_from_files, "read_first", change_after)
    with pytest.raises(
        TableError, match=rf"{which}.csv changed while it was read: it had 300 rows"
    ):
        fit_files(paths)


def test_rows_that_move_from_one_file_to_the_other_are_noticed(tmp_path, monkeypatch):
    # The sum of rows is the same, but labels would go to other rows.
    labelled, deployed = tables(300)
    paths = write(tmp_path, "csv", (labelled, deployed))
    read_first = _from_files.read_first

    def move_after(*arguments):
        found = read_first(*arguments)
        write(tmp_path, "csv", (labelled[:-1], pd.concat([deployed, deployed[:1]])))
        return found

    monkeypatch.setattr(_from_files, "read_first", move_after)
    with pytest.raises(TableError, match=r"labelled.csv changed while it was read"):
        fit_files(paths)


@pytest.mark.usefixtures("small_pieces")
def test_rows_in_another_order_keep_their_labels(tmp_path, monkeypatch):
    # A database gives rows in any order, which may be another one when it is asked again.
    labelled, deployed = tables()
    paths = write(tmp_path, "csv", (labelled, deployed))
    read_first = _from_files.read_first

    def shuffle_after(*arguments):
        found = read_first(*arguments)
        write(tmp_path, "csv", (labelled.sample(frac=1.0, random_state=0), deployed))
        return found

    monkeypatch.setattr(_from_files, "read_first", shuffle_after)
    model = fit_files(paths)
    predicted = model.predict(deployed)["predicted_label"][1::2]
    assert (predicted == labelled["label"][1::2]).mean() > 0.6  # 0.3 by labels of other rows


@pytest.mark.parametrize("label", ["x", "w"])
def test_labels_that_change_while_they_are_read(tmp_path, monkeypatch, label):
    labelled, deployed = tables(300)
    paths = write(tmp_path, "csv", (labelled, deployed))
    read_first = _from_files.read_first

    def rename_after(*arguments):
        found = read_first(*arguments)
        renamed = labelled.assign(label=labelled["label"].replace("z", label))
        write(tmp_path, "csv", (renamed, deployed))
        return found

    monkeypatch.setattr(_from_files, "read_first", rename_after)
    message = r"labelled.csv changed while it was read: it has other labels now"
    with pytest.raises(TableError, match=message):
        fit_files(paths)


def test_a_fit_on_files_forgets_groups_and_calibration(tmp_path):
    paths = write(tmp_path, "csv", tables(300))
    model = TabularModel(LACForestClassifier(2, theta=0.5, random_state=0))
    model.groups = model.calibrator = "of another fit"
    model.fit_files(paths[0], "label", paths[1], max_memory=MEMORY)
    assert (model.groups, model.calibrator) == (None, None)


def test_the_command(tmp_path, capsys):
    frames = tables()
    paths = write(tmp_path, "parquet", frames)
    model = tmp_path / "model.lac"
    arguments = ["fit", str(paths[0]), "--target", "label", "--unlabeled", str(paths[1])]
    arguments += ["-o", str(model), "--trees", "5", "--memory", "700", "--theta", "0.5"]
    assert main(arguments) == 0
    assert f"{N_ROWS:,} rows of 3 classes: x, y, z" in capsys.readouterr().out
    labels = TabularModel.load(model).predict(frames[1])["predicted_label"]
    assert (labels[::2] == "<new>").mean() > 0.98

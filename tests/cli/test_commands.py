"""Commands on valid input: their output and the files they write."""

import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from two_tables import DEPLOYED, LABELLED, fit_words

from lacforest import LACForestClassifier, __version__
from lacforest.cli import _console, main
from lacforest.tabular import TabularModel

THETA = ("theta", "labelled.csv", "prod.csv", "--target", "kind", "--jobs", "1")


# ---------------------------------------------------------------------------- predict


def test_predict(run, model, folder):
    outcome = run("predict", "model.lac", "prod.csv", "-o", "scored.csv")
    assert (outcome.code, outcome.err, outcome.new_files) == (0, "", ["scored.csv"])
    assert outcome.out.startswith("scored      80 rows in ")
    found, expected = pd.read_csv("scored.csv"), TabularModel.load(model).predict(DEPLOYED)
    assert found["row"].tolist() == list(range(1, 81))
    assert_frame_equal(found.drop(columns="row"), expected, check_exact=False, atol=1e-6)


def test_predict_as_json(run, model):
    outcome = run("predict", "model.lac", "prod.csv", "-o", "scored.csv", "--json")
    facts = json.loads(outcome.out)
    assert facts["rows"] == sum(facts["labels"].values()) == 80
    assert facts["labels"]["<new>"] == facts["called_new"]
    assert list(facts["labels"]) == ["<new>", "ham", "spam"]


def test_predict_to_standard_output(run, model):
    outcome = run("predict", "model.lac", "prod.csv", "-o", "-")
    assert outcome.new_files == []
    assert pd.read_csv(io.StringIO(outcome.out)).shape == (80, 5)
    assert outcome.err.startswith("scored      80 rows")
    assert run("predict", "model.lac", "prod.csv", "-o", "-", "-q").err == ""


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_pieces_give_what_the_whole_gives(run, model, monkeypatch, suffix):
    words = ("predict", "model.lac", "prod.csv", "--keep", "city,member,x", "-q")
    assert run(*words, "-o", f"whole{suffix}").code == 0
    monkeypatch.setattr("lacforest.cli._predict._MOST_ROWS", 7)
    assert run(*words, "-o", f"pieces{suffix}").code == 0
    read = pd.read_parquet if suffix == ".parquet" else pd.read_csv
    assert_frame_equal(read(f"pieces{suffix}"), read(f"whole{suffix}"))
    assert len(read(f"whole{suffix}")) == 80


def test_kept_columns_are_copied_as_they_stand(run, model):
    # A numerical column, a boolean column, and a column that the model does not have.
    deployed = DEPLOYED.assign(id=[f"{i:04}" for i in range(80)])
    deployed.to_csv("new.csv", index=False)
    assert run("predict", "model.lac", "new.csv", "-o", "s.csv", "--keep", "id,x,member").code == 0
    run("predict", "model.lac", "prod.csv", "-o", "plain.csv")
    found = pd.read_csv("s.csv", dtype={"id": str, "x": str})
    assert found["id"].tolist() == deployed["id"].tolist()
    assert found["x"].tolist() == deployed["x"].map(str).tolist()
    assert found["member"].tolist() == deployed["member"].tolist()
    assert list(found)[:5] == ["row", "id", "x", "member", "predicted_label"]
    assert_frame_equal(found.drop(columns=["id", "x", "member"]), pd.read_csv("plain.csv"))


def test_kept_columns_from_parquet(run, model, monkeypatch):
    # A column without values in the first chunk, and an integer column with a missing value later.
    monkeypatch.setattr("lacforest.cli._predict._MOST_ROWS", 40)
    note = pd.Series([None] * 40 + ["x"] * 40, dtype=object)
    number = pd.array([5] * 60 + [None] * 20, dtype="Int64")
    DEPLOYED.assign(note=note, number=number).to_parquet("new.parquet")
    words = ("predict", "model.lac", "new.parquet", "-o", "s.parquet", "--keep", "note,number")
    assert run(*words).code == 0
    found = pd.read_parquet("s.parquet")
    assert found["note"].isna().sum() == 40
    assert found["number"].isna().sum() == 20


def test_texts_that_fit_never_saw(run, model):
    DEPLOYED.assign(city=["Oslo", "Paris"] * 40).to_csv("new.csv", index=False)
    outcome = run("predict", "model.lac", "new.csv", "-o", "s.csv")
    assert (
        "note: column 'city': 40 rows with a text that did not occur in the fit, for instance "
        "'Paris'; it counts as missing" in outcome.out
    )
    facts = json.loads(run("predict", "model.lac", "new.csv", "-o", "s.csv", "--json").out)
    assert facts["unseen_rows"] == {"city": 40}


def test_predict_by_a_plain_forest(run, folder):
    X, U = LABELLED[["x", "y"]], DEPLOYED[["x", "y"]]
    LACForestClassifier(5).fit(X, LABELLED["kind"]).save("plain.lac")
    outcome = run("predict", "plain.lac", "prod.csv", "-o", "s.csv")
    assert outcome.code == 0, outcome.err
    assert "it accepts only numbers, in the columns 'x', 'y'" in outcome.out
    assert "\nnew " not in outcome.out
    assert len(pd.read_csv("s.csv")) == len(U)


@pytest.mark.parametrize(
    "words", [fit_words("--theta", "auto", "--trees", "9"), THETA], ids=["fit", "theta"]
)
def test_trees_are_counted_on_a_terminal(run, monkeypatch, words):
    class Bar:
        def __init__(self, **options):
            self.n, self.total = 0, options["total"]
            self.desc, self.file = options["desc"], options["file"]

        def update(self, n):
            assert n > 0
            self.n += n

        def close(self):
            print(f"{self.desc}: {self.n} of {self.total}", file=self.file)

    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=Bar))
    assert run(*words).err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    shown = run(*words).err
    assert "estimating theta" in shown
    assert "estimating theta: 200 of 200\n" in shown
    if words[0] == "fit":
        assert shown.count("growing trees: 9 of 9\n") == 2  # both steps
    assert run(*words, "-q").err == ""
    monkeypatch.setitem(sys.modules, "tqdm", None)  # not installed
    assert "estimating theta: 200 of 200 trees" in run(*words).err


@pytest.mark.parametrize(("columns", "width"), [(0, 80), (120, None)])
def test_a_terminal_without_width_has_bars(monkeypatch, columns, width):
    monkeypatch.setattr("sys.stderr.fileno", lambda: 2)
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((columns, 24)))
    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=lambda **options: options))
    made = _console._make_bar(desc="growing trees")
    assert made["ncols"] == width  # tqdm draws nothing in 0 columns


def test_a_bar_on_a_terminal(run, model, monkeypatch):
    class Bar:
        def __init__(self, **options):
            self.n_rows, self.file = 0, options["file"]

        def update(self, n_rows):
            self.n_rows += n_rows

        def close(self):
            print(f"{self.n_rows} passed", file=self.file)

    words = ("predict", "model.lac", "prod.csv", "-o", "s.csv")
    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=Bar))
    assert run(*words).err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    shown = run(*words).err
    assert "reading model.lac ..." in shown
    assert shown.endswith("80 passed\n")
    assert run(*words, "-q").err == ""
    monkeypatch.setitem(sys.modules, "tqdm", None)  # not installed
    assert "\r\x1b[K80 rows\r\x1b[K" in run(*words).err


@pytest.mark.parametrize(
    ("words", "activity"),
    [
        (("adapt", "model.lac", "prod.csv", "-o", "a.lac"), "estimating shares in prod.csv ..."),
        (("watch", "model.lac", "prod.csv"), "estimating shares in prod.csv ..."),
        (
            ("groups", "model.lac", "prod.csv", "--labelled", "labelled.csv", "-o", "g.csv"),
            "scoring 80 rows ...\r\x1b[Kreading labelled.csv ...\r\x1b[Kgrouping ",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_every_long_step_says_what_it_does(run, model, monkeypatch, words, activity):
    assert run(*words).err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert activity in run(*words).err
    assert run(*words, "-q").err == ""


def test_rows_of_a_fit_in_chunks_are_counted(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "\r\x1b[K80 rows\r\x1b[K" in run(*fit_words("--memory", "512")).err


# ---------------------------------------------------------------------------- theta


def test_theta(run):
    outcome = run(*THETA)
    assert (outcome.code, outcome.err, outcome.new_files) == (0, "", [])
    assert outcome.out.startswith("theta       0.")
    assert "of 80 unlabelled rows" in outcome.out
    for topic in ("something new", "something known", "identifiable", "agreement", "class shares"):
        assert f" {topic}: " in outcome.out


def test_theta_as_json(run):
    facts = json.loads(run(*THETA, "--json").out)
    low, high = facts["theta_interval"]
    assert low <= facts["theta"] <= high
    assert low <= 0.5 <= high
    assert facts["sound"] == all(found["level"] == "ok" for found in facts["findings"])


def test_theta_by_another_method(run):
    outcome = run(*THETA, "--method", "best_bin")
    assert "The checks below estimate theta by rank_mixture." in outcome.out


# ---------------------------------------------------------------------------- inspect


def test_inspect(run, model):
    outcome = run("inspect", "model.lac")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"by lacforest {__version__}" in outcome.out
    for part in ("target      kind", "classes     ham, spam", "label '<new>'", "0.500 (given)",
                 "60 labelled, 80 unlabelled", "5 trees", "text, native: Bern, Lima, Oslo, Rome",
                 "number", "boolean"):  # fmt: skip
        assert part in outcome.out


def test_inspect_as_json(run, model):
    facts = json.loads(run("inspect", "model.lac", "--json").out)
    trees = LACForestClassifier.load(model).estimators_
    assert facts["nodes"] == sum(tree.node_count for tree in trees)
    assert facts["max_depth"] == max(tree.max_depth for tree in trees)
    assert facts["mean_depth"] == np.mean([tree.max_depth for tree in trees])
    assert sum(column["importance"] for column in facts["columns"]) == pytest.approx(1.0)
    assert facts["columns"][2]["categories"] == ["Bern", "Lima", "Oslo", "Rome"]
    assert facts["bytes"] == model.stat().st_size


def test_inspect_many_columns(run, folder):
    more = {f"x{i}": np.arange(60) % (i + 2) for i in range(12)}
    LABELLED.assign(**more).to_csv("labelled.csv", index=False)
    DEPLOYED[:60].assign(**more).to_csv("prod.csv", index=False)
    run(*fit_words("--drop", "x", "--categories", "onehot"))
    out = run("inspect", "model.lac").out
    assert "columns     15, by importance:" in out
    assert "and 5 more" in out
    assert "left out: 'x', as requested" in out


def test_inspect_a_plain_forest(run, folder):
    LACForestClassifier(2).fit(LABELLED[["x", "y"]], LABELLED["kind"]).save("plain.lac")
    outcome = run("inspect", "plain.lac")
    assert outcome.code == 0
    assert "accepts only numbers" in outcome.out
    assert "theta" not in outcome.out


# ---------------------------------------------------------------------------- demo, experiments


def test_demo(run):
    outcome = run("demo", "-o", "there")
    report = str(Path("there", "report.html"))
    assert (outcome.code, outcome.err, outcome.new_files) == (0, "", [report])
    assert outcome.out.startswith("digits: 350 labelled rows of 0, 3, 5, 6, 7; 500 unlabelled rows")
    assert outcome.out.endswith(f"\nreport: {report}\n")


def test_experiments_have_their_own_words(run):
    outcome = run("experiments", "theta", "--help")
    assert outcome.code == 0
    assert "--datasets" in outcome.out
    assert run("experiments", "--help").code == 0
    assert run("experiments", "nonsense").code == 2


def test_words_of_this_process(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["lacforest", "--version"])
    assert main() == 0
    assert capsys.readouterr().out == f"lacforest {__version__}\n"

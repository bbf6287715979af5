"""Commands on good input: what they print, what they write."""

import io
import json
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from two_tables import DEPLOYED, LABELLED, fit_words

from lacforest import LACExtraTreesClassifier, LACForestClassifier, __version__, demo
from lacforest.cli import main
from lacforest.tabular import TabularModel

THETA = ("theta", "labelled.csv", "prod.csv", "--target", "kind", "--jobs", "1")


# ---------------------------------------------------------------------------- fit


def test_fit(run):
    outcome = run(*fit_words())
    assert (outcome.code, outcome.err, outcome.new_files) == (0, "", ["model.lac"])
    lines = dict(line.split(maxsplit=1) for line in outcome.out.splitlines())
    assert lines["labelled"] == "60 rows of 2 classes: ham, spam"
    assert lines["unlabelled"] == "80 rows"
    assert lines["columns"] == "2 of numbers, 1 of true or false, 1 of text (ordinal)"
    assert lines["theta"] == "0.500, as given"
    assert lines["new"].endswith("%), called '<new>'")
    assert lines["forest"] == "5 trees of 4 features"
    assert lines["saved"].startswith("model.lac (")


def test_the_same_as_in_python(run, folder):
    run(*fit_words("--categories", "onehot", "--seed", "3"))
    model = TabularModel.load(folder / "model.lac")
    expected = LACForestClassifier(5, theta=0.5, random_state=3)
    X, U = model.coder.encode(LABELLED), model.coder.encode(DEPLOYED)
    expected.fit(X, LABELLED["kind"].to_numpy(), X_unlabeled=U)
    assert model.coder.columns_[2].coding == "onehot"
    assert_array_equal(model.forest.predict_proba(U), expected.predict_proba(U))


def test_extremely_randomised_trees(run, folder):
    outcome = run(*fit_words("--method", "lacextratrees"))
    assert (outcome.code, outcome.err) == (0, "")
    model = TabularModel.load(folder / "model.lac")
    assert isinstance(model.forest, LACExtraTreesClassifier)
    assert len(model.forest.estimators_) == 5
    scored = run("predict", "model.lac", "prod.csv", "-o", "scored.csv")
    assert (scored.code, scored.new_files) == (0, ["scored.csv"])
    assert run("inspect", "model.lac").code == 0


def test_fit_as_json(run):
    facts = json.loads(run(*fit_words("--json")).out)
    assert facts["classes"] == ["ham", "spam"]
    assert facts["columns"] == {"number": 2, "boolean": 1, "text": 1}
    assert (facts["theta"], facts["theta_interval"]) == (0.5, None)
    assert (facts["labelled_rows"], facts["unlabelled_rows"], facts["trees"]) == (60, 80, 5)
    assert 35 <= facts["called_new"] <= 45
    assert facts["output"] == "model.lac"


def test_quiet(run):
    outcome = run(*fit_words("-q"))
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


@pytest.mark.parametrize("method", ["auto", "best_bin"])
def test_fit_and_theta_find_the_same(run, method):
    words = [word for word in fit_words("--seed", "5", "--json") if word not in ("--theta", "0.5")]
    fitted = json.loads(run(*words, "--theta", method).out)
    found = json.loads(run(*THETA, "--seed", "5", "--method", method, "--json").out)
    assert fitted["theta"] == found["theta"]
    assert fitted["theta_interval"] == found["theta_interval"]


def test_numbers_as_labels(run, folder):
    LABELLED.assign(kind=np.repeat([3, 8], 30)).to_csv("labelled.csv", index=False)
    facts = json.loads(run(*fit_words("--json")).out)
    assert (facts["classes"], facts["new_label"]) == ([3, 8], -1)


def test_notes_and_warnings_are_plain_lines(run, folder):
    LABELLED.assign(id=range(60), one=1).to_csv("labelled.csv", index=False)
    # Nothing new: half of the labelled rows once more.
    same = LABELLED.drop(columns="kind").assign(id=range(60), one=1)[::2]
    same.to_csv("prod.csv", index=False)
    words = [word for word in fit_words() if word not in ("--theta", "0.5")]
    outcome = run(*words)
    notes = [line for line in outcome.out.splitlines() if line.startswith("note: ")]
    warned = [line for line in outcome.out.splitlines() if line.startswith("warning: ")]
    assert "note: column 'one' is left out: it is the same in all rows" in notes
    assert any("column 'id' is a different whole number" in note for note in notes)
    assert len(warned) == 1
    assert warned[0].startswith("warning: theta is estimated at 0.")
    assert outcome.err == ""


def test_columns_by_options(run, folder):
    labelled = LABELLED.assign(zip=np.tile(["0150", "12"], 30), age=np.tile(["?", "31"], 30), id=1)
    labelled.to_csv("labelled.csv", index=False)
    deployed = DEPLOYED.assign(zip=np.tile(["0150", "12"], 40), age=np.tile(["?", "7"], 40))
    deployed.to_csv("prod.csv", index=False)
    outcome = run(*fit_words("--drop", "id,x", "--drop", "y", "--text", "zip", "--missing", "?"))
    assert outcome.code == 0, outcome.err
    coder = TabularModel.load(folder / "model.lac").coder
    assert coder.kinds == {"city": "text", "member": "boolean", "zip": "text", "age": "number"}
    assert coder.columns_[2].categories == ("0150", "12")
    assert run("predict", "model.lac", "prod.csv", "-o", "scored.csv").code == 0


def test_labels_as_text(run, folder):
    LABELLED.assign(kind=np.repeat(["01", "02"], 30)).to_csv("labelled.csv", index=False)
    facts = json.loads(run(*fit_words("--text", "kind", "--json")).out)
    assert facts["classes"] == ["01", "02"]


@pytest.mark.parametrize("suffix", [".parquet", ".tsv", ".csv.gz"])
def test_other_formats(run, folder, suffix):
    for frame, name in ((LABELLED, "l"), (DEPLOYED, "u")):
        if suffix == ".parquet":
            frame.to_parquet(name + suffix)
        else:
            frame.to_csv(name + suffix, index=False, sep="\t" if suffix == ".tsv" else ",")
    words = ["fit", f"l{suffix}", "--target", "kind", "--unlabelled", f"u{suffix}", "-o", "m.lac"]
    assert run(*words, "--theta", "0.5", "--trees", "5").code == 0
    assert run("predict", "m.lac", f"u{suffix}", "-o", "other.csv").code == 0
    run(*fit_words())
    run("predict", "model.lac", "prod.csv", "-o", "scored.csv")
    assert_frame_equal(pd.read_csv("other.csv"), pd.read_csv("scored.csv"))


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
    # One of them is a feature of numbers, one of truth values, one is unknown to the model.
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
    # A column that is missing in the first piece, and a whole number that is missing later.
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
        "note: column 'city': 40 rows hold a text that was in no row of the fit, for instance "
        "'Paris'; it counts as missing" in outcome.out
    )
    facts = json.loads(run("predict", "model.lac", "new.csv", "-o", "s.csv", "--json").out)
    assert facts["unseen_rows"] == {"city": 40}


def test_predict_by_a_plain_forest(run, folder):
    X, U = LABELLED[["x", "y"]], DEPLOYED[["x", "y"]]
    LACForestClassifier(5).fit(X, LABELLED["kind"]).save("plain.lac")
    outcome = run("predict", "plain.lac", "prod.csv", "-o", "s.csv")
    assert outcome.code == 0, outcome.err
    assert "it takes numbers only, in the columns 'x', 'y'" in outcome.out
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
    assert "estimating theta" in run(*words).err


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
    assert "passed" not in run(*words).err


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
    for part in ("target      kind", "classes     ham, spam", "called '<new>'", "0.500, as given",
                 "60 labelled, 80 unlabelled", "5 trees", "text, ordinal: Bern, Lima, Oslo, Rome",
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
    assert "left out: 'x', asked for" in out


def test_inspect_a_plain_forest(run, folder):
    LACForestClassifier(2).fit(LABELLED[["x", "y"]], LABELLED["kind"]).save("plain.lac")
    outcome = run("inspect", "plain.lac")
    assert outcome.code == 0
    assert "takes numbers only" in outcome.out
    assert "theta" not in outcome.out


# ---------------------------------------------------------------------------- demo, experiments


def test_demo(run, monkeypatch):
    monkeypatch.setattr(demo, "main", lambda folder: print(f"shown in {folder}"))
    assert run("demo").out == "shown in lacforest-demo\n"
    assert run("demo", "-o", "there").out == "shown in there\n"


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


# ---------------------------------------------------------------------------- report


def test_report(run, model, folder):
    outcome = run("report", "model.lac", "prod.csv", "-o", "report.html")
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1].split() == ["report", "report.html"]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "What is new in prod.csv?" in page
    assert "How good is it?" not in page


def test_report_with_truth(run, model, folder):
    outcome = run(
        "report", "model.lac", "labelled.csv", "-o", "r.html", "--truth", "kind", "--json"
    )
    assert outcome.code == 0
    assert json.loads(outcome.out)["report"] == "r.html"
    assert "How good is it?" in (folder / "r.html").read_text(encoding="utf-8")


def test_report_of_a_truth_that_is_not_there(run, model, folder):
    outcome = run("report", "model.lac", "prod.csv", "-o", "r.html", "--truth", "kind")
    assert outcome.is_mistake("prod.csv has no column 'kind'")
    assert not (folder / "r.html").exists()

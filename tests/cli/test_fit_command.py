"""lacforest fit on good input: what it prints, what it writes."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from two_tables import DEPLOYED, FAST, LABELLED, fit_words

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest.tabular import TableCoder, TabularModel

THETA = ("theta", "labelled.csv", "prod.csv", "--target", "kind", "--jobs", "1")


def test_fit(run):
    outcome = run(*fit_words())
    assert (outcome.code, outcome.err, outcome.new_files) == (0, "", ["model.lac"])
    lines = dict(line.split(maxsplit=1) for line in outcome.out.splitlines())
    assert lines["labelled"] == "60 rows of 2 classes: ham, spam"
    assert lines["unlabelled"] == "80 rows"
    assert lines["columns"] == "2 of numbers, 1 of true or false, 1 of text (native)"
    assert lines["theta"] == "0.500 (given)"
    assert lines["new"].endswith("%), label '<new>'")
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


def test_fit_codes_each_table_once(run, monkeypatch):
    coded = []
    encode = TableCoder.encode

    def count(self, frame, *more, **options):
        coded.append(len(frame))
        return encode(self, frame, *more, **options)

    monkeypatch.setattr(TableCoder, "encode", count)
    assert run(*fit_words()).code == 0
    assert coded == [len(LABELLED), len(DEPLOYED)]


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
    # Nothing is new: the rows are half of the labelled rows.
    same = LABELLED.drop(columns="kind").assign(id=range(60), one=1)[::2]
    same.to_csv("prod.csv", index=False)
    words = [word for word in fit_words() if word not in ("--theta", "0.5")]
    outcome = run(*words)
    notes = [line for line in outcome.out.splitlines() if line.startswith("note: ")]
    warned = [line for line in outcome.out.splitlines() if line.startswith("warning: ")]
    assert "note: column 'one' is left out: it has the same value in all rows" in notes
    assert any("column 'id' is left out: it is a different integer" in note for note in notes)
    assert len(warned) == 1
    assert warned[0].startswith("warning: theta is estimated at 0.")
    assert warned[0].endswith("if you know the share, give it by --theta.")
    assert outcome.err == ""


def test_a_warning_speaks_of_tables_and_not_of_python(run, folder):
    deployed = LABELLED.drop(columns="kind")
    deployed.assign(x=deployed["x"] + 1000, y=deployed["y"] - 1000).to_csv("prod.csv", index=False)
    LABELLED.to_csv("labelled.csv", index=False)
    outcome = run(*[word for word in fit_words() if word not in ("--theta", "0.5")])
    (warned,) = [line for line in outcome.out.splitlines() if line.startswith("warning: ")]
    assert "both tables have the same units, scaling and order of columns, and that" in warned
    assert "unlabeled_label" not in warned


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
    assert run(*words, *FAST).code == 0
    assert run("predict", "m.lac", f"u{suffix}", "-o", "other.csv").code == 0
    run(*fit_words())
    run("predict", "model.lac", "prod.csv", "-o", "scored.csv")
    assert_frame_equal(pd.read_csv("other.csv"), pd.read_csv("scored.csv"))


def test_the_default_forest(run, folder):
    words = [*fit_words("--trees", "7", "--theta", "0.5")]
    place = words.index("--method")
    assert run(*words[:place], *words[place + 2 :]).code == 0
    assert isinstance(TabularModel.load(folder / "model.lac").forest, LACExtraTreesClassifier)

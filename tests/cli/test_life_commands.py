"""Commands for the time after the first fit: decisions, adapt, watch, groups, promote."""

import json

import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from two_tables import fit_words, make_tables

from lacforest.tabular import TabularModel

JOBS = ("--jobs", "1")


@pytest.fixture
def calibrated(run, folder):
    assert run(*fit_words("--calibrate")).code == 0
    return folder / "model.lac"


@pytest.fixture
def fresh(folder):
    """Rows of the same classes that took no part in the fit."""
    labelled, deployed = make_tables()
    frame = pd.concat([labelled.drop(columns="kind"), deployed])
    for name in ("x", "y"):
        frame[name] += 0.001
    frame.to_csv("fresh.csv", index=False)
    return frame


@pytest.mark.parametrize("n_rows", [1, 25, 140])
def test_a_budget_is_spent_exactly(run, calibrated, fresh, n_rows):
    outcome = run("predict", calibrated, "fresh.csv", "-o", "s.csv", "--budget", n_rows, *JOBS)
    assert outcome.code == 0, outcome.err
    scored = pd.read_csv("s.csv")
    assert (scored["predicted_label"] == "<new>").sum() == n_rows
    assert f"{n_rows} of 140 rows selected" in outcome.out


def test_a_bound_on_false_alarms(run, calibrated, fresh):
    assert run("predict", calibrated, "fresh.csv", "-o", "s.csv", "--max-fpr", 0.1, *JOBS).code == 0
    scored = pd.read_csv("s.csv")
    # 18 calibration rows: 0.1 * 19 is 1.9, so one of them may look as new
    assert_array_equal(scored["predicted_label"] == "<new>", scored["p_value"] <= 1 / 19 + 1e-6)


def test_rows_of_the_fit_get_honest_scores(run, calibrated, folder):
    run("predict", calibrated, "prod.csv", "-o", "s.csv", *JOBS)
    model = TabularModel.load(calibrated)
    scored = pd.read_csv("s.csv")
    expected = model.calibrator.unlabeled_scores().clip(0, 1)
    assert abs(scored["novelty_score"] - expected).max() < 1e-5
    columns = ["novelty_score", "probability_ham", "probability_spam"]
    assert abs(scored[columns].sum(axis=1) - 1).max() < 1e-5


def test_reasons_name_columns_and_texts(run, calibrated, fresh):
    run("predict", calibrated, "fresh.csv", "-o", "s.csv", "--explain", 4, *JOBS)
    scored = pd.read_csv("s.csv", keep_default_na=False)
    is_new = scored["predicted_label"] == "<new>"
    assert (scored["reasons"][~is_new] == "").all()
    assert scored["reasons"][is_new].str.contains("city = Lima").any()


def test_decisions_need_a_calibrated_model(run, model, folder):
    outcome = run("predict", model, "prod.csv", "-o", "s.csv", "--budget", 5)
    outcome.is_mistake("has no calibration rows", "fit it again with --calibrate")


def test_more_calibration_rows_are_asked_for(run, calibrated, fresh):
    outcome = run("predict", calibrated, "fresh.csv", "-o", "s.csv", "--max-fpr", 0.01)
    outcome.is_mistake("max_fpr=0.01 needs at least 99 calibration rows, got 18")


def test_adapt(run, calibrated, fresh):
    outcome = run("adapt", calibrated, "fresh.csv", "-o", "next.lac", "--json", *JOBS)
    assert (outcome.code, outcome.new_files) == (0, ["next.lac"])
    facts = json.loads(outcome.out)
    assert abs(facts["theta"] - 40 / 140) < 0.1
    adapted = TabularModel.load("next.lac")
    assert adapted.calibrator is None
    assert adapted.forest.theta_ == facts["theta"]


def test_watch_keeps_a_history_and_raises_alarms(run, calibrated, folder, fresh):
    fresh[:60].to_csv("quiet.csv", index=False)
    words = ("watch", calibrated, "--history", "h.csv", "--figure", "h.png", *JOBS)
    outcome = run(*words, "quiet.csv")
    assert outcome.code == 3  # nothing new there, half of the rows in the fit
    assert outcome.new_files == ["h.csv", "h.png"]
    assert "ALARM: " in outcome.out
    outcome = run(*words, "quiet.csv", "prod.csv")
    assert outcome.code == 0
    history = pd.read_csv("h.csv")
    assert history["table"].tolist() == ["quiet.csv", "prod.csv"]
    assert (history["theta"].between(history["theta_low"], history["theta_high"])).all()


def test_groups_and_promotion(run, model, folder):
    words = ("groups", model, "prod.csv", "--labelled", "labelled.csv", "--n-groups", 1)
    outcome = run(*words, "-o", "g.csv", "--save", "g.lac", *JOBS)
    assert (outcome.code, outcome.new_files) == (0, ["g.csv", "g.lac"])
    found = pd.read_csv("g.csv", dtype=str)
    assert found.columns.tolist()[:4] == ["row", "group", "novelty_score", "label"]
    assert set(found["group"]) == {"new-1"}
    found.loc[:4, "label"] = "new-1"
    found.to_csv("g.csv", index=False)
    words = ("promote", "labelled.csv", "g.csv", "--target", "kind", "-o", "next.csv")
    outcome = run(*words, "--name", "new-1=fraud", "--model", "model.lac")
    assert outcome.code == 0, outcome.err
    assert "--known-shares " in outcome.out
    joined = pd.read_csv("next.csv")
    assert joined["kind"].value_counts().to_dict() == {"ham": 30, "spam": 30, "fraud": 5}
    assert joined.columns.tolist() == ["x", "y", "city", "member", "kind"]
    # the saved model keeps the groups, and needs no labelled rows
    outcome = run("groups", "g.lac", "prod.csv", "-o", "again.csv", *JOBS)
    assert outcome.code == 0
    assert "new-1" in outcome.out


@pytest.fixture
def grouped(run, model, folder):
    """The table of groups, in which a person has labelled five rows."""
    words = ("groups", model, "prod.csv", "--labelled", "labelled.csv", "--n-groups", 1)
    assert run(*words, "-o", "g.csv", *JOBS).code == 0
    found = pd.read_csv("g.csv", dtype=str)
    found.loc[:4, "label"] = [" fraud ", "fraud", "  ", "", "fraud"]
    return found


PROMOTE = ("promote", "labelled.csv", "g.csv", "--target", "kind", "-o", "next.csv")


def test_blank_labels_are_none(run, grouped):
    grouped.to_csv("g.csv", index=False)
    assert run(*PROMOTE).code == 0
    assert pd.read_csv("next.csv")["kind"].value_counts()["fraud"] == 3
    assert set(pd.read_csv("next.csv")["kind"]) == {"ham", "spam", "fraud"}


def test_columns_that_promoted_rows_lack_are_told(run, grouped):
    grouped.drop(columns=["x", "city"]).to_csv("g.csv", index=False)
    outcome = run(*PROMOTE)
    assert "added rows have no values in 'x', 'city'" in outcome.out
    assert pd.read_csv("next.csv")["x"].isna().sum() == 3


def test_a_group_of_two_names(run, grouped):
    grouped.to_csv("g.csv", index=False)
    outcome = run(*PROMOTE, "--name", "new-1=fraud", "--name", "new-1=theft")
    outcome.is_mistake("--name gives group 'new-1' more than one label")


def test_the_table_for_labelling_has_no_formulas(run, folder):
    deployed = pd.read_csv("prod.csv")
    deployed.loc[deployed["city"] == "Lima", "city"] = "=1+1"
    deployed.to_csv("prod.csv", index=False)
    assert run(*fit_words()).code == 0
    words = ("groups", "model.lac", "prod.csv", "--labelled", "labelled.csv", "-o", "g.csv")
    assert run(*words, *JOBS).code == 0
    found = pd.read_csv("g.csv", dtype=str)
    assert not found["city"].fillna("").str.startswith("=").any()
    assert found["city"].str.startswith("'=").any()
    found.loc[0, "label"] = "fraud"
    found.to_csv("g.csv", index=False)
    run("promote", "labelled.csv", "g.csv", "--target", "kind", "-o", "next.csv")
    assert pd.read_csv("next.csv")["city"].iloc[-1] == "=1+1"


def test_columns_with_the_names_of_the_output_are_kept_apart(run, folder):
    names = {"x": "row", "y": "novelty_score", "city": "label", "member": "group"}
    tables = [pd.read_csv(name).rename(columns=names) for name in ("labelled.csv", "prod.csv")]
    for table, name in zip(tables, ("labelled.csv", "prod.csv"), strict=True):
        table.to_csv(name, index=False)
    assert run(*fit_words()).code == 0
    words = ("groups", "model.lac", "prod.csv", "--labelled", "labelled.csv", "-o", "g.csv")
    assert run(*words, *JOBS).code == 0
    found = pd.read_csv("g.csv", dtype=str)
    assert found.columns.tolist()[4:] == [f"table.{name}" for name in names.values()]
    found.loc[0, "label"] = "fraud"
    found.to_csv("g.csv", index=False)
    assert run("promote", "labelled.csv", "g.csv", "--target", "kind", "-o", "next.csv").code == 0
    added = pd.read_csv("next.csv").iloc[-1]
    source = tables[1].iloc[int(found["row"][0]) - 1]
    assert added["kind"] == "fraud"
    for name in names.values():
        assert added[name] == source[name]


def test_mistakes(run, model, folder):
    outcome = run("groups", model, "prod.csv", "-o", "g.csv")
    outcome.is_mistake("has no groups yet", "--labelled")
    pd.DataFrame({"group": ["new-1"], "label": [None], "x": [1]}).to_csv("g.csv", index=False)
    words = ("promote", "labelled.csv", "g.csv", "-o", "n.csv", "--target")
    run(*words, "kind").is_mistake("g.csv has no labels")
    run(*words, "sort").is_mistake("labelled.csv has no column 'sort' of labels")
    run(*words, "kind", "--name", "new-7=x").is_mistake("g.csv has no group 'new-7'")
    run("promote", "labelled.csv", "prod.csv", "-o", "n.csv", "--target", "kind").is_mistake(
        "prod.csv has no column 'group'"
    )

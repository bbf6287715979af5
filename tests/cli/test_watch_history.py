"""The history of lacforest watch: what it keeps, who may write it, and what it is not."""

import pandas as pd
import pytest
from two_tables import fit_words

from lacforest._utils.file_lock import locked

JOBS = ("--jobs", "1")
HEADER = "table,rows,theta,theta_low,theta_high,theta_before,share_ham,share_spam,far_share,alarms"
ROW = "old.csv,80,0.5,0.4,0.6,0.5,0.5,0.5,,"


@pytest.fixture
def model(run, folder):
    assert run(*fit_words()).code == 0
    return folder / "model.lac"


def test_rows_of_a_model_that_knew_fewer_classes(run, model, folder):
    """A class that was promoted later has no share in earlier rows; they stay readable."""
    (folder / "h.csv").write_text(f"{HEADER},share_egg\n{ROW},\nlast.csv{ROW[7:]},0.2\n")
    words = ("watch", model, "prod.csv", "--history", "h.csv", "--figure", "h.png", *JOBS)
    for _ in range(2):
        outcome = run(*words)
        assert outcome.code in (0, 3), outcome.err
    history = pd.read_csv("h.csv")
    assert history["table"].tolist() == ["old.csv", "last.csv", "prod.csv"]
    assert history["share_egg"].isna().tolist() == [True, False, True]


NO_HISTORIES = {
    "another table": "a,b\n1,2\n",
    "a line of text": "buy milk, and bread\n",
    "empty lines": "\n\n",
    "a header without alarms": f"{HEADER[:-7]}\n",
    "no alarms": "table\nx\n",
    "no numbers": "table,alarms\nx,\n",
    "a cell too many": f"{HEADER}\n{ROW},7\n",
    "a cell too few": f"{HEADER}\nold.csv,80\n",
    "a text for a number": f"{HEADER}\n{ROW.replace('0.4', 'low')}\n",
    "a number that is none": f"{HEADER}\n{ROW.replace('0.4', 'nan')}\n",
    "an infinite share": f"{HEADER}\n{ROW.replace('0.5,,', 'inf,,')}\n",
    "another encoding": "table,alarms\n\xff\n".encode("latin-1"),
    "a long cell": f"{HEADER}\n{'a' * 200_000}{ROW}\n",
}


@pytest.mark.parametrize("content", NO_HISTORIES.values(), ids=NO_HISTORIES)
def test_what_is_no_history(run, model, folder, content):
    path = folder / "h.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = path.read_bytes()
    outcome = run("watch", model, "prod.csv", "--history", "h.csv", *JOBS)
    assert (outcome.code, outcome.err) == (
        2,
        "lacforest: h.csv is not a history of lacforest watch\n",
    )
    assert path.read_bytes() == before


def test_a_table_that_cannot_be_read_loses_none_before_it(run, model, folder):
    (folder / "broken.csv").write_text("other\n1\n")
    words = ("--history", "h.csv", *JOBS)
    outcome = run("watch", model, "prod.csv", "broken.csv", *words)
    assert outcome.code == 2
    assert "broken.csv" in outcome.err
    assert pd.read_csv("h.csv")["table"].tolist() == ["prod.csv"]
    outcome = run("watch", model, "prod.csv", *words)
    assert outcome.code in (0, 3)
    assert "in the history already" in outcome.out


def test_one_run_at_a_time_writes_a_history(run, model, folder):
    words = ("watch", model, "prod.csv", "--history", "h.csv", *JOBS)
    with locked(folder / "h.csv"):
        outcome = run(*words)
    assert outcome.code == 2
    assert "h.csv is in use by process" in outcome.err
    assert not (folder / "h.csv").exists()
    assert run(*words).code in (0, 3)
    assert not list(folder.glob(".h.csv*"))


def test_a_figure_that_is_the_history(run, model, folder):
    (folder / "h.svg").write_text(f"{HEADER}\n{ROW}\n")
    (folder / "link.svg").symlink_to("h.svg")
    outcome = run("watch", model, "prod.csv", "--history", "h.svg", "--figure", "link.svg", *JOBS)
    outcome.is_mistake("link.svg is also the history: draw into another file")
    assert (folder / "h.svg").read_text() == f"{HEADER}\n{ROW}\n"


def test_a_figure_of_an_unknown_kind(run, model, folder):
    outcome = run("watch", model, "prod.csv", "--figure", "h.xyz", *JOBS)
    assert (outcome.code, outcome.err) == (
        2,
        "lacforest: h.xyz: the name must end in .png, .svg or .pdf\n",
    )


@pytest.mark.parametrize("n_rows", [1, 3, 9])
def test_a_few_rows_raise_no_alarm(run, folder, n_rows):
    assert run(*fit_words("--theta", "0.05")).code == 0
    new = pd.read_csv("prod.csv")[-20:]  # all of them are new
    new.to_csv("many.csv", index=False)
    new[:n_rows].to_csv("few.csv", index=False)
    outcome = run("watch", "model.lac", "few.csv", "--history", "h.csv", *JOBS)
    assert outcome.code == 0
    assert f"a batch of {n_rows} row" in outcome.out
    assert "ALARM" not in outcome.out
    outcome = run("watch", "model.lac", "few.csv", "many.csv", "--history", "h.csv", *JOBS)
    assert outcome.code == 3
    history = pd.read_csv("h.csv", keep_default_na=False)
    assert history["rows"].tolist() == [n_rows, 20]
    assert history["alarms"][0] == ""
    assert history["alarms"][1].startswith("theta")
    assert (history["theta_low"][0], history["theta_high"][0]) == (0.0, 1.0)


def test_a_model_adapted_to_one_row_predicts_as_before(run, model):
    pd.read_csv("prod.csv")[-1:].to_csv("one.csv", index=False)
    outcome = run("adapt", model, "one.csv", "-o", "adapted.lac", *JOBS)
    assert "changes nothing: a batch of 1 row is too small" in outcome.out
    for name in ("model", "adapted"):
        assert run("predict", f"{name}.lac", "prod.csv", "-o", f"{name}.csv").code == 0
    assert pd.read_csv("model.csv").equals(pd.read_csv("adapted.csv"))

"""Ctrl-C in every command that reads a model and a table."""

import pytest
from two_tables import fit_words

from lacforest.tabular import TableCoder

WORDS = {
    "adapt": ("adapt", "model.lac", "prod.csv", "-o", "next.lac"),
    "watch": ("watch", "model.lac", "prod.csv", "--history", "h.csv", "--figure", "h.png"),
    "groups": ("groups", "model.lac", "prod.csv", "--labelled", "labelled.csv", "-o", "g.csv"),
    "report": ("report", "model.lac", "prod.csv", "-o", "r.html"),
    "predict": ("predict", "model.lac", "prod.csv", "-o", "s.csv"),
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_ctrl_c_leaves_neither_files_nor_locks(run, folder, words, monkeypatch):
    assert run(*fit_words()).code == 0

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(TableCoder, "encode", stop)
    before = sorted(folder.iterdir())
    outcome = run(*words)
    assert (outcome.code, outcome.err) == (130, "lacforest: interrupted\n")
    assert sorted(folder.iterdir()) == before

import pytest
from two_tables import DEPLOYED, LABELLED, Outcome, files_of, fit_words

from lacforest.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with labelled.csv and prod.csv."""
    monkeypatch.chdir(tmp_path)
    LABELLED.to_csv("labelled.csv", index=False)
    DEPLOYED.to_csv("prod.csv", index=False)
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    """Run the command in this process."""

    def call(*words):
        before = files_of(folder)
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err, sorted(files_of(folder) - before))

    return call


@pytest.fixture
def model(run, folder):
    """A model file fitted on the two tables."""
    assert run(*fit_words()).code == 0
    return folder / "model.lac"

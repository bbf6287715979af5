"""User errors: one clear line, exit code 2, no partially written files."""

import errno
import io
import os
import subprocess
import sys
import sysconfig
import zlib
from pathlib import Path

import pytest
from two_tables import DEPLOYED, LABELLED, files_of, fit_words

from lacforest import LACForestClassifier
from lacforest._model.container import MAGIC
from lacforest._model.forest_files import VERSION
from lacforest.cli import COMMANDS, _console, main

PREDICT = ("predict", "model.lac", "prod.csv", "-o", "scored.csv")
THETA = ("theta", "labelled.csv", "prod.csv", "--target", "kind")


# ---------------------------------------------------------------------------- tables


def change(name, **columns):
    frame = LABELLED if name == "labelled.csv" else DEPLOYED
    frame.assign(**columns).to_csv(name, index=False)


def write(name, content):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


UNIQUE = [f"v{i}" for i in range(60)]

BAD_TABLES = {
    "no target": (lambda: change("labelled.csv"), ["--target", "label"],
                  "labelled.csv has no column 'label' (did you mean 'kind'?); it has 'x', 'y'"),
    "unique target": (lambda: change("labelled.csv", kind=UNIQUE), [],
                      "column 'kind' of labelled.csv contains 60 different values in 60 rows"),
    "one class": (lambda: change("labelled.csv", kind="ham"), [],
                  "column 'kind' of labelled.csv contains a single class, 'ham'"),
    "a row without label": (lambda: change("labelled.csv", kind=["ham", None] * 30), [],
                            "labelled.csv has no label in 30 rows (the first is row 2)"),
    "a column here": (lambda: change("labelled.csv", age=1), [],
                      "labelled.csv has the column 'age', but prod.csv does not"),
    "a column there": (lambda: change("prod.csv", age=1), [],
                       "prod.csv has the column 'age', but labelled.csv does not"),
    "mixed types": (lambda: change("labelled.csv", x=["1", "n.a."] * 30), [],
                    "column 'x' of labelled.csv contains numbers and text: 30 of 60 values are "
                    "numbers, but 'n.a.' (row 2) is not"),
    "another type there": (lambda: change("prod.csv", x=["a", "b"] * 40), [],
                           "column 'x' contains numbers in labelled.csv"),
    "dates": (lambda: change("labelled.csv", x="2024-01-01"), [],
              "column 'x' of labelled.csv contains dates or times"),
    "all missing": (lambda: change("prod.csv", x=None), [],
                    "column 'x' of prod.csv has no values"),
    "empty": (lambda: write("prod.csv", ""), [], "prod.csv is empty"),
    "no unlabelled rows": (lambda: write("prod.csv", "x,y,city,member\n"), [],
                           "prod.csv has no rows"),
    "one unlabelled row": (lambda: write("prod.csv", "x,y,city,member\n1,2,a,true\n"), [],
                           "prod.csv has 1 unlabelled row, and at least two are needed"),
    "broken row": (lambda: write("prod.csv", "x,y,city,member\n1,2,a,true\n1,2,a\n"), [],
                   "prod.csv, line 3: 3 values, but the header has 4 columns"),
    "wrong encoding": (lambda: write("prod.csv", b"x,y,city,member\n1,2,\xe9,true\n"), [],
                       "prod.csv is not UTF-8 text: line 2 has the byte 0xe9"),
    "name twice": (lambda: write("prod.csv", "x,x\n1,2\n"), [],
                   "prod.csv has more than one column called 'x'"),
    "no such file": (lambda: os.remove("prod.csv"), [], "prod.csv: No such file or directory"),
    "unknown drop": (lambda: None, ["--drop", "age"], "--drop age: neither"),
    "unknown text": (lambda: None, ["--text", "age"], "--text age: neither"),
    "unknown encoding": (lambda: None, ["--encoding", "x"], "no text encoding called 'x'"),
}  # fmt: skip


def test_several_problems_in_one_run(run):
    change("labelled.csv", x="2024-01-01", age=1)
    outcome = run(*fit_words())
    assert outcome.code == 2
    first, *others = outcome.err.splitlines()
    assert first == "lacforest: 2 problems:"
    assert others[0].startswith("- labelled.csv has the column 'age', but prod.csv does not")
    assert others[0].endswith("--drop age")
    assert others[1].startswith("- column 'x' of labelled.csv contains dates or times")
    assert others[1].endswith(
        "use --dates to learn from hour, weekday and elapsed days, or --drop x"
    )


@pytest.mark.parametrize("case", BAD_TABLES)
@pytest.mark.parametrize("command", ["fit", "theta"])
def test_bad_tables(run, case, command):
    prepare, more, message = BAD_TABLES[case]
    prepare()
    words = fit_words() if command == "fit" else THETA
    assert run(*words, *more).is_mistake(message)


def test_an_unknown_format(run):
    outcome = run("fit", "a.docx", "--target", "y", "--unlabeled", "prod.csv", "-o", "m.lac")
    assert outcome.is_mistake("a.docx: the name of a table must end in .csv, .tsv")


def broken_later():
    rows = DEPLOYED.to_csv(index=False)
    write("prod.csv", rows + "1,2,a\n")


BAD_ROWS = {
    "a column that is missing": (lambda: write("prod.csv", "x,y,city\n1,2,a\n"), [],
                                 "prod.csv has no column 'member'; it has 'x', 'y', 'city'"),
    "text for a number": (lambda: change("prod.csv", x=["1", "many"] * 40), [],
                          "prod.csv, line 3: 'many' in column 'x', which must contain numbers"),
    "text for a kept number": (lambda: change("prod.csv", x=["1", "many"] * 40), ["--keep", "x"],
                               "column 'x' of prod.csv must contain numbers, but 'many' is not"),
    "broken at the end": (broken_later, [], "prod.csv, line 82: 3 values"),
    "empty": (lambda: write("prod.csv", ""), [], "prod.csv is empty"),
    "no rows": (lambda: write("prod.csv", "x,y,city,member\n"), [], "prod.csv has no rows"),
    "nothing to keep": (lambda: None, ["--keep", "id"], "prod.csv has no column 'id'; it has"),
    "a mistyped name": (lambda: None, ["--keep", "membre,City"],
                        "no columns 'membre', 'City' (did you mean 'member', 'city'?); it has"),
    "a name that is taken": (lambda: change("prod.csv", row=1), ["--keep", "row"],
                             "--keep row: the output already has a column of that name"),
    "keep twice": (lambda: None, ["--keep", "x", "--keep", "x"],
                   "--keep x: the output already has a column of that name"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_to_score(run, model, case, monkeypatch):
    monkeypatch.setattr("lacforest.cli._predict._MOST_ROWS", 10)
    prepare, more, message = BAD_ROWS[case]
    prepare()
    assert run(*PREDICT, *more).is_mistake(message)


# ---------------------------------------------------------------------------- model files


def newer_version(path):
    header = f'{{"version": {VERSION + 1}}}'.encode()
    crc = zlib.crc32(header).to_bytes(4, "little")
    path.write_bytes(MAGIC + len(header).to_bytes(8, "little") + header + crc + bytes(64))


BAD_MODELS = {
    "newer": (newer_version, f"it has format version {VERSION + 1}, and this lacforest reads up"),
    "another file": (lambda path: path.write_text("x,y\n"), "it is not a lacforest model file"),
    "empty": (lambda path: path.write_bytes(b""), "it is not a lacforest model file"),
    "cut off": (lambda path: path.write_bytes(path.read_bytes()[:-100]), "it was cut off"),
    "missing": (lambda path: path.unlink(), "model.lac: No such file or directory"),
}


@pytest.mark.parametrize("case", BAD_MODELS)
@pytest.mark.parametrize("words", [PREDICT, ("inspect", "model.lac")], ids=["predict", "inspect"])
def test_bad_models(run, model, case, words):
    spoil, message = BAD_MODELS[case]
    spoil(model)
    assert run(*words).is_mistake("model.lac", message)


# ---------------------------------------------------------------------------- output


@pytest.mark.parametrize("words", [fit_words, lambda output: [*PREDICT[:-1], output]])
def test_outputs_that_cannot_be_written(run, model, folder, words, monkeypatch):
    (folder / "out.csv").mkdir()
    assert run(*words(output="out.csv")).is_mistake("out.csv cannot be written: it is a folder")
    outcome = run(*words(output="no/out.csv"))
    assert outcome.is_mistake(f"{Path('no/out.csv')} cannot be written: there is no folder no")
    assert run(*words(output="prod.csv")).is_mistake("prod.csv is also an input")
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe.csv")
        assert run(*words(output="pipe.csv")).is_mistake(
            "pipe.csv cannot be written: it is a device"
        )
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    outcome = run(*words(output="other.csv"))
    assert outcome.is_mistake("other.csv cannot be written: no permission in folder .")


def test_permission_lost_later(run, model, monkeypatch):
    def refuse(*args, **options):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), args[0])

    monkeypatch.setattr("lacforest._utils.atomic.open", refuse, raising=False)
    outcome = run(*PREDICT)
    assert outcome.is_mistake("scored.csv cannot be written: Permission denied")


def test_an_output_of_unknown_format(run, model):
    outcome = run(*PREDICT[:-1], "scored.xlsx")
    assert outcome.is_mistake("scored.xlsx: the name of the output must end in .csv")


class FullDisk(io.FileIO):
    """Simulate a disk that is full after the first bytes."""

    room = 500

    def write(self, content):
        if self.tell() > self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(content)


@pytest.mark.parametrize("name", ["scored.csv", "scored.parquet"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_full_disk_in_the_middle(run, model, folder, monkeypatch, name, exists):
    if exists:
        write(name, "old")
    before = files_of(folder)
    monkeypatch.setattr("lacforest.cli._predict._MOST_ROWS", 10)
    monkeypatch.setattr("lacforest._utils.atomic.open", FullDisk, raising=False)
    outcome = run(*PREDICT[:-1], name)
    assert outcome.is_mistake(f"{name} cannot be written: No space left on device")
    assert files_of(folder) == before
    assert not exists or (folder / name).read_text() == "old"


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("words", [fit_words(), PREDICT], ids=["fit", "predict"])
def test_a_full_disk_at_the_end(run, model, folder, monkeypatch, step, words):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), args[0])

    write("scored.csv", "old")
    before = model.read_bytes()
    monkeypatch.setattr(os, step, full)
    assert run(*words).is_mistake(" cannot be written: No space left on device")
    assert (folder / "scored.csv").read_text() == "old"
    assert model.read_bytes() == before


def test_others_may_read_the_output(run, model, folder):
    run(*PREDICT)
    mask = os.umask(0)
    os.umask(mask)
    assert (folder / "scored.csv").stat().st_mode & 0o777 == 0o666 & ~mask


# ---------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["guess"], "invalid choice: 'guess'"),
        (["fit", "a.csv"], "the following arguments are required: --unlabeled"),
        (fit_words("--theta", "2"), "argument --theta: 2 must lie strictly between 0 and 1"),
        (fit_words("--theta", "km3"), "'km3' is neither a number nor one of auto, rank_mixture"),
        (fit_words("--trees", "0"), "argument --trees: 0 is below 1"),
        (fit_words("--trees", "x"), "argument --trees: 'x' is not an integer"),
        (fit_words("--jobs", "0"), "argument --jobs: 0 threads"),
        (fit_words("--drop", ","), "argument --drop: give at least one name"),
        (fit_words("--categories", "hash"), "argument --categories: invalid choice"),
    ],
)
def test_bad_words(run, words, message):
    assert run(*words).is_mistake(message, "--help)")


def test_help_has_examples(run):
    names = ["fit", "predict", "theta", "report", "inspect", "demo"]
    names += ["adapt", "watch", "groups", "promote"]
    assert len(COMMANDS) == len(names) + 1  # experiments have their own help
    for words in ([], *([name] for name in names)):
        outcome = run(*words, "--help")
        assert outcome.code == 0
        assert "  lacforest " in outcome.out


# ---------------------------------------------------------------------------- other failures


def test_debug_shows_where(run):
    write("prod.csv", "")
    outcome = run(*fit_words("--debug"))
    assert outcome.code == 2
    assert outcome.err.startswith("Traceback")
    assert outcome.err.endswith("lacforest: prod.csv is empty\n")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "lacforest: interrupted\n"),
        (MemoryError("9 GB"), 1, "lacforest: not enough memory (9 GB)\n"),
        (ZeroDivisionError("a\nb"), 1,
         "lacforest: ZeroDivisionError: a b (--debug shows the traceback)\n"),
        (OSError("odd"), 2, "lacforest: odd\n"),
    ],
)  # fmt: skip
def test_failures(run, monkeypatch, error, code, message):
    def fail(*args, **options):
        raise error

    monkeypatch.setattr(LACForestClassifier, "fit", fail)
    outcome = run(*fit_words())
    assert (outcome.code, outcome.err, outcome.new_files) == (code, message, [])


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_a_missing_extra(run, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    outcome = run(*fit_words())
    assert outcome.is_mistake(f"this needs {package}", "pip install 'lacforest[cli]'", "'.[cli]'")


def test_stopped_while_modules_are_imported(run, monkeypatch):
    def stop(name):
        raise KeyboardInterrupt

    monkeypatch.setattr("lacforest.cli.importlib.import_module", stop)
    monkeypatch.setitem(sys.modules, "lacforest._model.container", None)
    outcome = run(*fit_words())
    assert (outcome.code, outcome.err, outcome.new_files) == (130, "lacforest: interrupted\n", [])


def test_stopped_in_the_middle(run, model, folder, monkeypatch):
    def stop(self, frames):
        yield next(iter(frames))
        raise KeyboardInterrupt

    monkeypatch.setattr("lacforest.cli._predict._MOST_ROWS", 10)
    monkeypatch.setattr(_console.Console, "with_bar", stop)
    outcome = run(*PREDICT)
    assert (outcome.code, outcome.err, outcome.new_files) == (130, "lacforest: interrupted\n", [])


def test_a_reader_that_goes_away(folder, run, model, monkeypatch):
    class ClosedPipe(io.BytesIO):
        def write(self, content):
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    with open("out", "w+b") as file:  # replaces the descriptor of standard output
        pipe = io.TextIOWrapper(ClosedPipe())
        monkeypatch.setattr(pipe.buffer, "fileno", file.fileno, raising=False)
        monkeypatch.setattr("sys.stdout", pipe)
        outcome = run("predict", "model.lac", "prod.csv", "-o", "-")
    assert (outcome.code, outcome.out, outcome.err) == (1, "", "")


# ---------------------------------------------------------------------------- a real process


def command():
    """The installed command, or python -m lacforest if it is not installed."""
    script = Path(sysconfig.get_path("scripts"), "lacforest")
    return [str(script)] if script.exists() else [sys.executable, "-m", "lacforest"]


def test_the_installed_command(folder):
    def call(*words):
        return subprocess.run([*command(), *words], capture_output=True, text=True, check=False)

    done = call(*fit_words())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("labelled    60 rows")
    done = call("inspect", "nothing.lac")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "lacforest: nothing.lac: No such file or directory\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("words", [("inspect", "model.lac"), (*PREDICT[:-1], "-"), ("demo",)])
def test_standard_output_on_a_full_disk(model, words):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*command(), *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == (
        "lacforest: standard output cannot be written: No space left on device\n"
    )


def test_a_report_of_the_demo_on_a_full_disk(run, folder, monkeypatch):
    monkeypatch.setattr(FullDisk, "room", -1)
    monkeypatch.setattr("lacforest._utils.atomic.open", FullDisk, raising=False)
    outcome = run("demo", "-o", "here")
    assert outcome.code == 2
    where = Path("here", "report.html")
    assert outcome.err == f"lacforest: {where}: No space left on device\n"
    assert not any((folder / "here").iterdir())


def test_main_never_exits(capsys):
    assert main(["--nonsense"]) == 2
    assert main(["--version"]) == 0

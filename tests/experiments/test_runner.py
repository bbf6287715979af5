"""Interrupted runs continue where they stopped, without losing or mixing up results."""

import io
import json
import os
import signal
import subprocess
import sys

import pytest

from lacforest.experiments import _progress, _runner
from lacforest.experiments._runner import ResultsFile, ResultsFileError, StoppedError, run_jobs

JOBS = {f"job {i}": i for i in range(6)}
EXPECTED = {key: {"square": job**2, "pair": [job, None]} for key, job in JOBS.items()}


class Work:
    """A job that records its calls and may be interrupted."""

    def __init__(self, stop_at=None, error=KeyboardInterrupt):
        self.done = []
        self.stop_at = stop_at
        self.error = error

    def __call__(self, job):
        if job == self.stop_at:
            raise self.error
        self.done.append(job)
        return {"square": job**2, "pair": (job, None)}


def run(path, work=None, configuration=None, fresh=False, jobs=JOBS, n_processes=1):
    work = work or Work()
    with ResultsFile(path, configuration or {"seed": 1}, fresh) as results:
        return run_jobs(jobs, work, results, n_processes), work.done


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new folder" / "results.jsonl"


def test_results_are_lines_below_a_header(path):
    results, done = run(path)
    assert results == EXPECTED
    assert done == list(JOBS.values())
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {"lacforest_results": 1, "configuration": {"seed": 1}}
    assert lines[1:] == [{"key": key, "result": EXPECTED[key]} for key in JOBS]
    assert [file.name for file in path.parent.iterdir()] == ["results.jsonl"]


def test_finished_jobs_are_not_run_again(path):
    run(path)
    before = path.read_bytes()
    results, done = run(path)
    assert results == EXPECTED
    assert done == []
    assert path.read_bytes() == before


def test_more_jobs_and_fewer(path):
    run(path, jobs={"job 2": 2, "job 4": 4})
    results, done = run(path)
    assert results == EXPECTED
    assert list(results) == list(JOBS)
    assert done == [0, 1, 3, 5]
    assert run(path, jobs={"job 3": 3}) == ({"job 3": EXPECTED["job 3"]}, [])


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(path):
    with pytest.raises(
        StoppedError, match=r"after 3 of 6 jobs.*results\.jsonl\. Repeat the command"
    ):
        run(path, Work(stop_at=3))
    results, done = run(path)
    assert results == EXPECTED
    assert done == [3, 4, 5]


@pytest.mark.parametrize("n_lost", [1, 2, 20, 49, 50, 51, 52, 70])
def test_a_line_that_was_cut_off_is_run_again(path, n_lost):
    run(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-n_lost])
    results, done = run(path)
    assert results == EXPECTED
    assert done == [4, 5][-len(done) :]
    assert path.read_bytes() == whole


def test_a_killed_process_loses_no_finished_job(path):
    code = f"""
import sys, time
from lacforest.experiments._runner import ResultsFile, run_jobs
def work(job):
    if job == 3:
        print("here", flush=True)
        time.sleep(60)
    return {{"square": job**2, "pair": (job, None)}}
with ResultsFile({str(path)!r}, {{"seed": 1}}) as results:
    run_jobs({JOBS!r}, work, results)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"here\n"
        process.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
    results, done = run(path)
    assert results == EXPECTED
    assert done == [3, 4, 5]


def test_a_failing_job_is_named_and_keeps_the_others(path):
    with pytest.raises(ZeroDivisionError) as caught:
        run(path, Work(stop_at=2, error=ZeroDivisionError))
    assert caught.value.__notes__ == [f"This was job 'job 2'. Results so far are saved in {path}."]
    assert run(path)[1] == [2, 3, 4, 5]


def test_jobs_in_processes(path):
    results, done = run(path, n_processes=2)
    assert results == EXPECTED
    assert list(results) == list(JOBS)
    assert done == []  # by this process
    assert len(path.read_text().splitlines()) == 1 + len(JOBS)
    assert run(path)[1] == []


def test_a_failing_job_in_a_process_is_named(path):
    with pytest.raises(ZeroDivisionError) as caught:
        run(path, Work(stop_at=2, error=ZeroDivisionError), n_processes=2)
    assert "This was job 'job 2'" in caught.value.__notes__[0]
    assert 2 in run(path)[1]


def test_another_configuration_is_refused(path):
    run(path, configuration={"seed": 1, "level": 0.9, "thetas": (1, 2)})
    before = path.read_bytes()
    with pytest.raises(
        ResultsFileError,
        match=r"level=0\.9 instead of None, seed=1 instead of 2\. Give another file with "
        r"--results, or discard these results with --fresh",
    ):
        run(path, configuration={"seed": 2, "thetas": (1, 2)})
    assert path.read_bytes() == before


def test_fresh_starts_over(path):
    run(path)
    results, done = run(path, configuration={"seed": 2}, fresh=True)
    assert results == EXPECTED
    assert done == list(JOBS.values())
    assert json.loads(path.read_text().splitlines()[0])["configuration"] == {"seed": 2}


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(
    "content",
    [b"name,value\n1,2\n", b"\x00\xff\n", b"no end of line", b"[1]\n", b"{}\n", b"1\n"],
)
def test_a_file_of_something_else_is_left_alone(path, content, fresh):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(ResultsFileError, match="is not a results file and is left as it is"):
        run(path, fresh=fresh)
    assert path.read_bytes() == content


def test_an_empty_file_may_be_used(path):
    path.parent.mkdir()
    path.touch()
    assert run(path)[0] == EXPECTED


def test_a_file_of_another_format(path):
    path.parent.mkdir()
    path.write_text('{"lacforest_results": 2, "configuration": {}}\n')
    with pytest.raises(ResultsFileError, match="has format 2, but this lacforest reads 1"):
        run(path)


@pytest.mark.parametrize("line", ["", "nonsense", '{"key": "job 1"}', '["key"]'])
def test_a_broken_line_in_the_middle_is_named(path, line):
    run(path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], line, *lines[4:]]) + "\n")
    with pytest.raises(ResultsFileError, match=r"line 4 of .* is not a result\. Delete that line"):
        run(path)
    assert run(path, fresh=True)[0] == EXPECTED


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(ResultsFileError, match=r"cannot use .* for results: Is a directory"):
        run(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ResultsFileError, match=r"cannot use .* Give another file with --results"):
        run(tmp_path / "file" / "results.jsonl")


def test_a_full_disk_keeps_what_was_written(path, monkeypatch):
    def fail(_):
        raise OSError(28, "No space left on device")

    def work(job):
        if job == 2:
            monkeypatch.setattr(_runner.os, "fsync", fail)
        return Work()(job)

    with pytest.raises(ResultsFileError, match=r"cannot write .*No space left.* free some space"):
        run(path, work)
    monkeypatch.undo()
    results, done = run(path)
    assert results == EXPECTED
    assert set(done) <= {2, 3, 4, 5}


def test_a_result_that_json_cannot_hold(path):
    with pytest.raises(ValueError, match="JSON"):
        run(path, lambda job: {"value": float("nan")})
    assert run(path)[0] == EXPECTED


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_nothing_is_shown_where_nobody_looks(path, capsys):
    run(path)
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_a_terminal(path, monkeypatch):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    run(path, jobs={"job 0": 0})
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    run(path)
    assert "1/6" in screen.getvalue()
    assert "6/6" in screen.getvalue()


def test_lines_on_a_terminal_without_tqdm(path, monkeypatch):
    screen, now = Terminal(), iter(range(0, 1000, 2))
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(now))
    monkeypatch.setattr(sys, "stderr", screen)
    run(path)
    assert screen.getvalue() == ("3 of 6 jobs, about 6 s left\n6 of 6 jobs, about 0 s left\n")


# ---------------------------------------------------------------------------- two runs at once


def test_a_file_in_use_is_left_alone(tmp_path):
    path = tmp_path / "results.jsonl"
    with ResultsFile(path, {"seed": 1}) as first:
        first.add("a", {"x": 1})
        content = path.read_bytes()
        for fresh in (False, True):
            with pytest.raises(
                ResultsFileError,
                match=rf"results.jsonl is in use by process {os.getpid()} on .* since 20.*Wait for",
            ):
                ResultsFile(path, {"seed": 1}, fresh)
        assert path.read_bytes() == content
        first.add("b", {"x": 2})
    with ResultsFile(path, {"seed": 1}) as again:
        assert again.finished == {"a": {"x": 1}, "b": {"x": 2}}
    assert os.listdir(tmp_path) == ["results.jsonl"]


def test_a_refused_file_is_free_again(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text("no results\n")
    for _ in range(2):
        with pytest.raises(ResultsFileError, match="is not a results file"):
            ResultsFile(path, {"seed": 1})
    assert os.listdir(tmp_path) == ["results.jsonl"]


def test_the_lock_of_a_killed_run_is_free(tmp_path):
    path = tmp_path / "results.jsonl"
    code = (
        "import os, sys; from lacforest.experiments._runner import ResultsFile\n"
        "ResultsFile(sys.argv[1], {'seed': 1}).add('a', {'x': 1}); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    with ResultsFile(path, {"seed": 1}) as results:
        assert results.finished == {"a": {"x": 1}}


@pytest.mark.parametrize(
    "line",
    [
        *('{"key": 1, "result": {}}', '{"key": "b", "result": 3}', '{"key": "b", "result": null}'),
        *("[]", "[" * 100_000, '"x"', '{"key": ["a"], "result": {}}'),
    ],
)
def test_lines_that_are_no_results(tmp_path, line):
    path = tmp_path / "results.jsonl"
    with ResultsFile(path, {"seed": 1}) as results:
        results.add("a", {"x": 1})
    path.write_text(path.read_text() + line + "\n")
    content = path.read_bytes()
    with pytest.raises(ResultsFileError, match=r"line 3 of .* is not a result\. Delete that line"):
        ResultsFile(path, {"seed": 1})
    assert path.read_bytes() == content

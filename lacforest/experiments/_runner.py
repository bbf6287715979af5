"""Jobs that survive being stopped: every result is a line of a file, and a rerun does the rest.

A results file holds JSON lines: first a header with the configuration, then one line for each
finished job. Only one run at a time may write to it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from sklearn.utils.parallel import Parallel, delayed

from lacforest.experiments._progress import make_progress

FORMAT = 1
_MARK = "lacforest_results"
Job = TypeVar("Job")


class ResultsFileError(ValueError):
    """A results file that cannot be used, and what to do about it."""


class StoppedError(Exception):
    """The user stopped the run; the message says how to go on."""


class ResultsFile:
    """Results of finished jobs by key, in memory and on disk.

    Parameters
    ----------
    path : path
        The file; made if it is not there, with the folders above it.
    configuration : dict
        What results depend on apart from their key. A file made with another one is refused.
    fresh : bool, default=False
        Throw away what the file holds. A file that holds no results is never thrown away.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        configuration: dict[str, Any],
        fresh: bool = False,
    ) -> None:
        self.path = Path(path)
        self.finished: dict[str, dict[str, Any]] = {}
        self._header = {_MARK: FORMAT, "configuration": json.loads(json.dumps(configuration))}
        try:
            content = self.path.read_bytes() if self.path.exists() else b""
            if content:
                # After a kill the last line may be cut off: that job runs again.
                content = content[: content.rfind(b"\n") + 1]
                header = self._read_header(content)
            if not content or fresh:
                self._start()
            else:
                self._compare(header["configuration"])
                self._read_results(content)
                os.truncate(self.path, len(content))
            self._file = open(self.path, "ab")  # noqa: SIM115
        except OSError as error:
            raise ResultsFileError(
                f"cannot use {self.path} for results: {error.strerror}. Name another file by "
                "--results."
            ) from error

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(self, *_: object) -> None:
        # Every result was synced when it was added: a failure to close loses nothing.
        with contextlib.suppress(OSError):
            self._file.close()

    def _start(self) -> None:
        """Write the header under another name first: a file has a whole header or none."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(f".{self.path.name}.tmp")
        with open(temporary, "wb") as file:
            file.write(_encode(self._header))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)

    def _read_header(self, content: bytes) -> dict[str, Any]:
        try:
            header = json.loads(content.split(b"\n", 1)[0])
            version = header[_MARK]
            configuration = header["configuration"]
        except (KeyError, TypeError, ValueError):
            version = configuration = None
        if not isinstance(configuration, dict):
            raise ResultsFileError(
                f"{self.path} is not a results file and is left as it is. Name another file by "
                "--results."
            )
        if version != FORMAT:
            raise ResultsFileError(
                f"{self.path} has format {version}, and this lacforest reads {FORMAT}. Name "
                "another file by --results."
            )
        return {"configuration": configuration}

    def _compare(self, before: dict[str, Any]) -> None:
        now = self._header["configuration"]
        different = [
            f"{name}={before.get(name)!r} where this run has {now.get(name)!r}"
            for name in sorted({*before, *now})
            if before.get(name) != now.get(name)
        ]
        if different:
            raise ResultsFileError(
                f"{self.path} was made with {', '.join(different)}. Name another file by "
                "--results, or throw these results away by --fresh."
            )

    def _read_results(self, content: bytes) -> None:
        for number, line in enumerate(content.splitlines()[1:], start=2):
            try:
                entry = json.loads(line)
                self.finished[entry["key"]] = entry["result"]
            except (KeyError, TypeError, ValueError) as error:
                raise ResultsFileError(
                    f"line {number} of {self.path} is not a result. Delete that line, or throw "
                    "all results away by --fresh."
                ) from error

    def add(self, key: str, result: dict[str, Any]) -> None:
        """Keep the result of a job; it is on disk when this returns."""
        line = _encode({"key": key, "result": result})
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise ResultsFileError(
                f"cannot write to {self.path}: {error.strerror}. Results so far are kept: make "
                "room and give the same command again."
            ) from error
        # As a rerun would read it.
        self.finished[key] = json.loads(line)["result"]


def _encode(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, allow_nan=False).encode() + b"\n"


def _run_one(
    key: str, job: Job, function: Callable[[Job], dict[str, Any]], path: Path
) -> tuple[str, dict[str, Any]]:
    try:
        return key, function(job)
    except Exception as error:
        error.add_note(f"This was job {key!r}. Results so far are kept in {path}.")
        raise


def _run_quietly(*call: Any) -> tuple[str, dict[str, Any]]:
    """For other processes: Ctrl-C reaches them too, and the first process speaks for all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _run_one(*call)


def _as_they_finish(
    jobs: Mapping[str, Job],
    function: Callable[[Job], dict[str, Any]],
    path: Path,
    n_processes: int,
) -> Iterator[tuple[str, dict[str, Any]]]:
    calls = ((key, job, function, path) for key, job in jobs.items())
    if n_processes == 1:
        return (_run_one(*call) for call in calls)
    # Processes, not threads: methods may be plain Python, and warnings belong to a whole process.
    parallel = Parallel(n_jobs=n_processes, return_as="generator_unordered")
    finished: Iterator[Any] = parallel(delayed(_run_quietly)(*call) for call in calls)
    return finished


def run_jobs(
    jobs: Mapping[str, Job],
    function: Callable[[Job], dict[str, Any]],
    results: ResultsFile,
    n_processes: int = 1,
) -> dict[str, dict[str, Any]]:
    """Run the jobs that have no result yet, in their order.

    Parameters
    ----------
    jobs : dict
        Jobs by key. Keys are what results are kept under.
    function : callable
        Makes the result of a job: a dict of what JSON can hold.
    results : ResultsFile
        Where results are kept.
    n_processes : int, default=1
        Jobs that run at once, -1 for as many as there are cores.

    Returns
    -------
    dict
        Results of all `jobs` by key, of this run and of earlier ones.
    """
    waiting = {key: job for key, job in jobs.items() if key not in results.finished}
    progress = make_progress(len(jobs), len(jobs) - len(waiting))
    try:
        for key, result in _as_they_finish(waiting, function, results.path, n_processes):
            results.add(key, result)
            progress.update()
    except KeyboardInterrupt:
        n_done = sum(key in results.finished for key in jobs)
        raise StoppedError(
            f"stopped after {n_done} of {len(jobs)} jobs, which are kept in {results.path}. Give "
            "the same command again to go on."
        ) from None
    finally:
        progress.close()
    return {key: results.finished[key] for key in jobs}

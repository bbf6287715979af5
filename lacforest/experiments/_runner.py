"""Resumable jobs: every result is saved as a line of a file, and a rerun does the remaining jobs.

A results file contains JSON lines: a header with the configuration, then one line per finished job.
A lock lets only one run at a time use it.
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

from lacforest._utils.file_lock import LockedError, locked
from lacforest.experiments._progress import make_progress

FORMAT = 1
_MARK = "lacforest_results"
Job = TypeVar("Job")


class ResultsFileError(ValueError):
    """A results file cannot be used; the message says what to do."""


class StoppedError(Exception):
    """The user stopped the run; the message says how to continue."""


class ResultsFile:
    """Results of finished jobs by key, in memory and on disk.

    Parameters
    ----------
    path : path
        The file; created with its parent folders if it does not exist.
    configuration : dict
        Settings that results depend on, apart from their key. A file with others raises an error.
    fresh : bool, default=False
        Discard the results in the file. A file that is not a results file is never discarded.
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
        self._lock = contextlib.ExitStack()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Before the file is read: what follows may truncate or replace it.
            self._lock.enter_context(locked(self.path))
            self._open(fresh)
        except LockedError as error:
            raise ResultsFileError(
                f"{error}. Wait for it to end, or give another file with --results."
            ) from None
        except OSError as error:
            self._lock.close()
            raise ResultsFileError(
                f"cannot use {self.path} for results: {error.strerror}. Give another file with "
                "--results."
            ) from error
        except BaseException:
            self._lock.close()
            raise

    def _open(self, fresh: bool) -> None:
        """Read the results of earlier runs, and get ready to add to them."""
        content = self.path.read_bytes() if self.path.exists() else b""
        if content:
            # The last line may be incomplete if the process was killed: that job runs again.
            content = content[: content.rfind(b"\n") + 1]
            header = self._read_header(content)
        if not content or fresh:
            self._start()
        else:
            self._compare(header["configuration"])
            self._read_results(content)
            os.truncate(self.path, len(content))
        self._file = open(self.path, "ab")  # noqa: SIM115

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(self, *_: object) -> None:
        # Every result was synced when it was added, so a failure to close loses nothing.
        with self._lock, contextlib.suppress(OSError):
            self._file.close()

    def _start(self) -> None:
        """Write the header to a temporary file first, so that it is complete or absent."""
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
        except (KeyError, RecursionError, TypeError, ValueError):
            version = configuration = None
        if not isinstance(configuration, dict):
            raise ResultsFileError(
                f"{self.path} is not a results file and is left as it is. Give another file with "
                "--results."
            )
        if version != FORMAT:
            raise ResultsFileError(
                f"{self.path} has format {version}, but this lacforest reads {FORMAT}. Give "
                "another file with --results."
            )
        return {"configuration": configuration}

    def _compare(self, before: dict[str, Any]) -> None:
        now = self._header["configuration"]
        different = [
            f"{name}={before.get(name)!r} instead of {now.get(name)!r}"
            for name in sorted({*before, *now})
            if before.get(name) != now.get(name)
        ]
        if different:
            raise ResultsFileError(
                f"{self.path} was made with {', '.join(different)}. Give another file with "
                "--results, or discard these results with --fresh."
            )

    def _read_results(self, content: bytes) -> None:
        for number, line in enumerate(content.splitlines()[1:], start=2):
            try:
                entry = json.loads(line)
                if not isinstance(entry["key"], str) or not isinstance(entry["result"], dict):
                    raise TypeError("a result is a dict under a key of text")
                self.finished[entry["key"]] = entry["result"]
            except (KeyError, RecursionError, TypeError, ValueError) as error:
                raise ResultsFileError(
                    f"line {number} of {self.path} is not a result. Delete that line, or discard "
                    "all results with --fresh."
                ) from error

    def add(self, key: str, result: dict[str, Any]) -> None:
        """Save the result of a job; it is on disk when this returns."""
        line = _encode({"key": key, "result": result})
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise ResultsFileError(
                f"cannot write to {self.path}: {error.strerror}. Results so far are saved: free "
                "some space and repeat the command."
            ) from error
        # The same value as a rerun would read.
        self.finished[key] = json.loads(line)["result"]


def _encode(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, allow_nan=False).encode() + b"\n"


def _run_one(
    key: str, job: Job, function: Callable[[Job], dict[str, Any]], path: Path
) -> tuple[str, dict[str, Any]]:
    try:
        return key, function(job)
    except Exception as error:
        error.add_note(f"This was job {key!r}. Results so far are saved in {path}.")
        raise


def _run_quietly(*call: Any) -> tuple[str, dict[str, Any]]:
    """For worker processes, which also receive Ctrl-C: only the main process reports it."""
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
    # Processes instead of threads: methods may hold the GIL, and warning filters are per process.
    parallel = Parallel(n_jobs=n_processes, return_as="generator_unordered")
    finished: Iterator[Any] = parallel(delayed(_run_quietly)(*call) for call in calls)
    return finished


def run_jobs(
    jobs: Mapping[str, Job],
    function: Callable[[Job], dict[str, Any]],
    results: ResultsFile,
    n_processes: int = 1,
    after_saving: Callable[[Job], object] | None = None,
) -> dict[str, dict[str, Any]]:
    """Run the jobs that have no result yet, in their order.

    Parameters
    ----------
    jobs : dict
        Jobs by the key of their result.
    function : callable
        Computes the result of a job: a dict of JSON values.
    results : ResultsFile
        The file of results.
    n_processes : int, default=1
        Number of jobs that run in parallel, -1 for all cores.
    after_saving : callable or None
        Called with each job of this run after its result is on disk.

    Returns
    -------
    dict
        Results of all `jobs` by key, from this run and earlier ones.
    """
    waiting = {key: job for key, job in jobs.items() if key not in results.finished}
    progress = make_progress(len(jobs), len(jobs) - len(waiting))
    try:
        for key, result in _as_they_finish(waiting, function, results.path, n_processes):
            results.add(key, result)
            if after_saving is not None:
                after_saving(waiting[key])
            progress.update()
    except KeyboardInterrupt:
        n_done = sum(key in results.finished for key in jobs)
        raise StoppedError(
            f"stopped after {n_done} of {len(jobs)} jobs, whose results are saved in "
            f"{results.path}. Repeat the command to continue."
        ) from None
    finally:
        progress.close()
    return {key: results.finished[key] for key in jobs}

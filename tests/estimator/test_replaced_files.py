"""Saving over what exists: links, permissions, special files, long names, and SIGTERM."""

import os
import signal
import stat
import subprocess
import sys
import threading
from contextlib import suppress

import pytest
from two_blobs import U, fitted_forest

from lacforest import LACForestClassifier
from lacforest._utils.atomic import atomic_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and modes are of POSIX")


def loads(path):
    return len(LACForestClassifier.load(path).predict(U)) == len(U)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_permissions_are_kept(tmp_path, mode):
    path = tmp_path / "forest.lac"
    path.touch()
    path.chmod(mode)
    fitted_forest().save(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert loads(path)


def test_contents_are_never_readable_by_more(tmp_path):
    path = tmp_path / "secret"
    path.touch()
    path.chmod(0o600)
    with atomic_file(path) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
        file.write(b"secret")


def test_a_new_file_has_the_usual_permissions(tmp_path):
    fitted_forest().save(tmp_path / "forest.lac")
    (tmp_path / "other").touch()
    usual = (tmp_path / "other").stat().st_mode
    assert (tmp_path / "forest.lac").stat().st_mode == usual


@pytest.mark.parametrize("exists", [False, True])
def test_links_are_followed(tmp_path, exists):
    (tmp_path / "models").mkdir()
    target, link = tmp_path / "models" / "real.lac", tmp_path / "current.lac"
    if exists:
        target.write_bytes(b"old")
    link.symlink_to("models/real.lac")
    fitted_forest().save(link)
    assert link.is_symlink()
    assert loads(target)
    assert sorted(os.listdir(tmp_path)) == ["current.lac", "models"]
    assert os.listdir(tmp_path / "models") == ["real.lac"]


def test_devices_and_pipes_are_refused(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to("pipe")
    for path in (pipe, tmp_path / "link", "/dev/null"):
        with pytest.raises(OSError, match="it is a device, a pipe or a socket, not a file"):
            fitted_forest().save(path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


@pytest.mark.parametrize("name", ["a" * 255, "é" * 127])
def test_the_longest_names(tmp_path, name):
    fitted_forest().save(tmp_path / name)
    assert loads(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


_SAVE = """
import os, sys
from lacforest._utils.atomic import atomic_file
with atomic_file(sys.argv[1]) as file:
    file.write(b"new")
    file.flush()
    print("writing", flush=True)
    while True:
        pass
"""


def test_sigterm_leaves_no_temporary_file(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    command = [sys.executable, "-c", _SAVE, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "writing\n"
        assert len(os.listdir(tmp_path)) == 2
        process.terminate()
        assert process.wait(60) == -signal.SIGTERM
    assert os.listdir(tmp_path) == ["model"]
    assert path.read_bytes() == b"old"


def test_handlers_of_sigterm_are_left_alone(tmp_path):
    def handler(*_):
        pass

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with atomic_file(tmp_path / "file"):
            assert signal.getsignal(signal.SIGTERM) is handler
        assert signal.getsignal(signal.SIGTERM) is handler
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with atomic_file(tmp_path / "file"):
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


def test_threads_can_save(tmp_path):
    thread = threading.Thread(target=fitted_forest().save, args=[tmp_path / "forest.lac"])
    thread.start()
    thread.join()
    assert loads(tmp_path / "forest.lac")
    with suppress(FileNotFoundError):
        os.unlink(tmp_path / "forest.lac")
    assert os.listdir(tmp_path) == []

"""A failed save leaves the old file unchanged and no other file."""

import errno
import os
import pathlib

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from two_blobs import U, X, fitted_forest, small_forest, y

from lacforest import LACForestClassifier
from lacforest._utils import atomic


def disk_full(*args, **kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupted(*args, **kwargs):
    raise KeyboardInterrupt


@pytest.mark.parametrize("failure", [disk_full, interrupted])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failing_step_leaves_the_old_file(tmp_path, monkeypatch, step, failure):
    path = tmp_path / "forest.lac"
    fitted_forest().save(path)
    content = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, step, failure)
        with pytest.raises((OSError, KeyboardInterrupt)):
            fitted_forest(n_estimators=9).save(path)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["forest.lac"]
    assert_array_equal(
        LACForestClassifier.load(path).predict_proba(U), fitted_forest().predict_proba(U)
    )


def test_a_failing_write_leaves_nothing(tmp_path, monkeypatch):
    class FullDisk:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            self.file.close()

        def __getattr__(self, name):
            return getattr(self.file, name)

        def write(self, content):
            if self.file.tell() > 1000:
                disk_full()
            return self.file.write(content)

    monkeypatch.setattr(
        atomic,
        "open",
        lambda *args: FullDisk(open(*args)),  # noqa: SIM115
        raising=False,
    )
    with pytest.raises(OSError, match="No space left"):
        fitted_forest().save(tmp_path / "forest.lac")
    assert os.listdir(tmp_path) == []


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing.forest\.lac"):
        fitted_forest().save(tmp_path / "missing" / "forest.lac")
    assert os.listdir(tmp_path) == []


def test_a_folder_in_the_place_of_the_file(tmp_path):
    (tmp_path / "forest.lac").mkdir()
    with pytest.raises(OSError, match=r"forest\.lac"):
        fitted_forest().save(tmp_path / "forest.lac")
    assert os.listdir(tmp_path) == ["forest.lac"]
    assert os.listdir(tmp_path / "forest.lac") == []


def test_a_file_that_does_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.lac"):
        LACForestClassifier.load(tmp_path / "nowhere.lac")


@pytest.mark.skipif(os.name != "posix", reason="file modes are those of POSIX")
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_others_may_read_the_file_as_far_as_the_umask_allows(tmp_path, umask):
    # A file that only its owner can read could not be loaded by a service of another user.
    before = os.umask(umask)
    try:
        fitted_forest().save(tmp_path / "forest.lac")
        assert os.umask(umask) == umask  # save gave it back
    finally:
        os.umask(before)
    assert (tmp_path / "forest.lac").stat().st_mode & 0o777 == 0o666 & ~umask


# ---------------------------------------------------------------------------- what a file can hold


def test_parameters_that_a_file_cannot_hold(tmp_path):
    forest = fitted_forest().set_params(unlabeled_label=pathlib.PurePosixPath("x"))
    with pytest.raises(TypeError, match=r"cannot save unlabeled_label=.*joblib.dump"):
        forest.save(tmp_path / "forest.lac")
    assert os.listdir(tmp_path) == []


def test_jobs_that_no_loaded_model_could_use(tmp_path):
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        fitted_forest().set_params(n_jobs=0).save(tmp_path / "forest.lac")
    assert os.listdir(tmp_path) == []


def test_labels_of_half_a_character(tmp_path):
    forest = small_forest().fit(X, np.array(["a", "\udcff"], dtype=object)[y])
    with pytest.raises(ValueError, match=r"cannot save a label.*lone surrogate"):
        forest.save(tmp_path / "forest.lac")
    assert os.listdir(tmp_path) == []


def test_labels_of_whole_characters_that_look_like_halves(tmp_path):
    labels = np.array(["\U0001f332", r"\ud800"], dtype=object)
    small_forest().fit(X, labels[y]).save(tmp_path / "forest.lac")
    loaded = LACForestClassifier.load(tmp_path / "forest.lac")
    assert_array_equal(sorted(loaded.classes_), sorted(labels))


def test_labels_that_are_objects(tmp_path):
    forest = small_forest().fit(X, y)
    forest.classes_ = forest.known_classes_ = np.array([("a", 1), ("b", 2), None], dtype=object)[:2]
    with pytest.raises(TypeError, match=r"cannot save labels .* convert y"):
        forest.save(tmp_path / "forest.lac")
    assert os.listdir(tmp_path) == []


def test_labels_that_are_dates(tmp_path):
    # A plain forest accepts these labels, but model files have no type for them.
    forest = small_forest().fit(X, np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")[y])
    with pytest.raises(TypeError, match=r"cannot save labels .* convert y"):
        forest.save(tmp_path / "forest.lac")
    assert os.listdir(tmp_path) == []

"""tools/check_dist.py: problems that it detects in archives to be published."""

import importlib.util
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

_PATH = Path(__file__).parents[2] / "tools" / "check_dist.py"
_spec = importlib.util.spec_from_file_location("check_dist", _PATH)
check_dist = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check_dist)

TRACKED = {
    "README.md",
    "lacforest/__init__.py",
    "lacforest/meson.build",
    "lacforest/py.typed",
    "lacforest/_tree/keys.pxd",
    "lacforest/_tree/keys.pyi",
    "lacforest/_tree/keys.pyx",
}
INFO = "lacforest-1.0.dist-info"
MEMBERS = [
    "lacforest/__init__.py",
    "lacforest/py.typed",
    "lacforest/_tree/keys.pyi",
    "lacforest/_tree/keys.cpython-311-x86_64-linux-gnu.so",
    *(f"{INFO}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")),
    f"{INFO}/licenses/LICENSE",
]
WHEEL = "lacforest-1.0-cp311-cp311-manylinux_2_17_x86_64.whl"


def make_wheel(folder, members, name=WHEEL, size=0):
    with zipfile.ZipFile(folder / name, "w") as archive:
        for member in members:
            archive.writestr(member, "")
        archive.writestr("lacforest/padding.py" if size else f"{INFO}/sboms/x.json", "x" * size)
    return folder / name


def make_sdist(folder, members):
    path = folder / "lacforest-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            archive.addfile(tarfile.TarInfo(f"lacforest-1.0/{member}"), io.BytesIO())
    return path


@pytest.mark.parametrize(
    "suffix",
    ["cpython-314t-aarch64-linux-musl.so", "cpython-312-darwin.so", "cp313-win_amd64.pyd"],
)
def test_a_good_wheel(tmp_path, suffix):
    members = [m.replace("cpython-311-x86_64-linux-gnu.so", suffix) for m in MEMBERS]
    assert check_dist.check_wheel(make_wheel(tmp_path, members), TRACKED) == []


@pytest.mark.parametrize("missing", MEMBERS)
def test_a_wheel_that_misses_a_file(tmp_path, missing):
    wheel = make_wheel(tmp_path, [member for member in MEMBERS if member != missing])
    (problem,) = check_dist.check_wheel(wheel, TRACKED)
    assert problem == f"{WHEEL} misses {missing.removesuffix('.cpython-311-x86_64-linux-gnu.so')}"


@pytest.mark.parametrize(
    "stray",
    ["lacforest/_tree/keys.pyx", "lacforest/_tree/keys.c", "tests/conftest.py", "lacforest/x.so"],
)
def test_a_wheel_with_a_stray_file(tmp_path, stray):
    (problem,) = check_dist.check_wheel(make_wheel(tmp_path, [*MEMBERS, stray]), TRACKED)
    assert problem == f"{WHEEL} should not hold {stray}"


def test_a_wheel_that_is_too_large(tmp_path):
    wheel = make_wheel(tmp_path, MEMBERS, size=5_000_000)
    (problem,) = check_dist.check_wheel(wheel, TRACKED | {"lacforest/padding.py"})
    assert "bytes, and 5000000 are too many" in problem


def test_a_wheel_that_was_not_repaired(tmp_path):
    wheel = make_wheel(tmp_path, MEMBERS, "lacforest-1.0-cp311-cp311-linux_x86_64.whl")
    (problem,) = check_dist.check_wheel(wheel, TRACKED)
    assert problem.endswith("names no platform that an index takes: was it repaired?")


def test_sdists(tmp_path):
    assert check_dist.check_sdist(make_sdist(tmp_path, [*TRACKED, "PKG-INFO"]), TRACKED) == []
    members = [*(TRACKED - {"README.md"}), "PKG-INFO", "secret.txt"]
    assert check_dist.check_sdist(make_sdist(tmp_path, members), TRACKED) == [
        "lacforest-1.0.tar.gz misses README.md",
        "lacforest-1.0.tar.gz should not hold secret.txt",
    ]


def test_a_tag_must_name_the_version():
    import lacforest

    assert check_dist.check_version(f"v{lacforest.__version__}") == []
    (problem,) = check_dist.check_version("v99.0")
    assert problem == f"the tag is v99.0, and the version is {lacforest.__version__}"

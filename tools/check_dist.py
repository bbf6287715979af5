"""Check the files to be published: their contents and sizes, and that the sdist is reproducible.

Run this in the checkout after ``make wheel``. The expected contents are the files that git tracks.

- The sdist contains every tracked file and nothing else, and a second build has the same bytes.
- Each wheel contains every file of the package except the sources of compiled modules, one compiled
  module per ``.pyx`` file, the metadata, and nothing else. It is smaller than 5 MB.
- On Linux, the name of a wheel states the required C library (manylinux or musllinux).
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
MAX_WHEEL_BYTES = 5_000_000
# Files that are compiled or used only during the build.
BUILD_ONLY = {".pyx", ".pxd", ".h", ".build"}
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
_EXTENSION = re.compile(r"\.(?:cpython-\d+t?-[\w-]+\.so|cp\d+t?-win\w+\.pyd)$")
_PLATFORM = re.compile(r"-(?:manylinux|musllinux|macosx|win)[\w.]*\.whl$")


def tracked_files() -> set[str]:
    """Return the files that git tracks, as paths relative to the checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    return set(filter(None, listed.stdout.split("\0")))


def expected_in_wheel(tracked: set[str], name: str) -> set[str]:
    """Return the expected members of a wheel; compiled modules are listed without a suffix."""
    package, version = name.split("-")[:2]
    members = {f"{package}-{version}.dist-info/{item}" for item in METADATA}
    for path in tracked:
        if path.startswith("lacforest/"):
            if path.endswith(".pyx"):
                members.add(path.removesuffix(".pyx"))
            elif Path(path).suffix not in BUILD_ONLY:
                members.add(path)
    return members


def compare(name: str, found: set[str], expected: set[str]) -> list[str]:
    """Describe missing and unexpected files of an archive, in one sentence each."""
    problems = []
    if missing := sorted(expected - found):
        problems.append(f"{name} misses {', '.join(missing)}")
    if stray := sorted(found - expected):
        problems.append(f"{name} should not hold {', '.join(stray)}")
    return problems


def check_sdist(path: Path, tracked: set[str]) -> list[str]:
    """Compare the members of an sdist with the tracked files."""
    with tarfile.open(path) as archive:
        members = [member.name for member in archive.getmembers() if not member.isdir()]
    root = path.name.removesuffix(".tar.gz") + "/"
    found = {name.removeprefix(root) for name in members}
    return compare(path.name, found, tracked | {"PKG-INFO"})


def check_wheel(path: Path, tracked: set[str]) -> list[str]:
    """Compare the members of a wheel with the package; check its size and platform."""
    with zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if not name.endswith("/")]
    # auditwheel adds an inventory of the libraries it bundled.
    found = {_EXTENSION.sub("", name) for name in members if "/sboms/" not in name}
    problems = compare(path.name, found, expected_in_wheel(tracked, path.name))
    size = path.stat().st_size
    if size >= MAX_WHEEL_BYTES:
        problems.append(f"{path.name} has {size} bytes, and {MAX_WHEEL_BYTES} are too many")
    if not _PLATFORM.search(path.name):
        problems.append(f"{path.name} names no platform that an index takes: was it repaired?")
    return problems


def digest(path: Path) -> str:
    """Return the SHA-256 digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_second_build(path: Path) -> list[str]:
    """Build the sdist once more and compare the bytes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "build", "--sdist", "--outdir", folder, str(CHECKOUT)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        again = digest(Path(folder) / path.name)
    if again == digest(path):
        return []
    return [f"{path.name} cannot be reproduced: {digest(path)}, and then {again}"]


def check_version(tag: str) -> list[str]:
    """Check that a tag like v1.2.3 matches the version in pyproject.toml."""
    with open(CHECKOUT / "pyproject.toml", "rb") as file:
        version = tomllib.load(file)["project"]["version"]
    return [] if tag == f"v{version}" else [f"the tag is {tag}, and the version is {version}"]


def main() -> None:
    """Check all archives in a folder; print the problems and exit with 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder that contains the sdist and the wheels")
    parser.add_argument("--tag", help="git tag of the release, such as v1.2.3")
    parser.add_argument(
        "--no-rebuild", action="store_true", help="do not build the sdist a second time"
    )
    arguments = parser.parse_args()
    sdists = sorted(arguments.folder.glob("*.tar.gz"))
    wheels = sorted(arguments.folder.glob("*.whl"))
    tracked = tracked_files()
    problems = check_version(arguments.tag) if arguments.tag else []
    if len(sdists) != 1 or not wheels:
        problems.append(f"{arguments.folder} holds {len(sdists)} sdists, {len(wheels)} wheels")
    for sdist in sdists:
        problems += check_sdist(sdist, tracked)
        if not arguments.no_rebuild:
            problems += check_second_build(sdist)
    for wheel in wheels:
        problems += check_wheel(wheel, tracked)
    for path in (*sdists, *wheels):
        print(f"{digest(path)}  {path.stat().st_size:>9,} bytes  {path.name}")
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(tracked)} tracked files: nothing missing, nothing stray")


if __name__ == "__main__":
    main()

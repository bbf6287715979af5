"""Installed files, and the modules that an import loads."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "lacforest"


def installed_by(build_file):
    """Files that a meson.build installs, and modules that it compiles."""
    text = re.sub(r"#.*", "", build_file.read_text(encoding="utf-8"))
    sources, compiled = set(), set()
    for listed in re.findall(r"install_sources\(\s*\[(.*?)\]", text, re.DOTALL):
        sources |= set(re.findall(r"'([^']+)'", listed))
    for listed in re.findall(r"foreach \w+ : \[(.*?)\]", text, re.DOTALL):
        compiled |= set(re.findall(r"'([^']+)'", listed))
    return sources, compiled


def folders():
    return sorted({path.parent for path in SOURCE.rglob("*.py")})


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_every_file_is_installed(folder):
    sources, compiled = installed_by(folder / "meson.build")
    present = {path.name for path in folder.iterdir() if path.suffix in (".py", ".pyi", ".typed")}
    assert sources == present
    assert compiled == {path.stem for path in folder.glob("*.pyx")}


def test_every_folder_is_visited():
    for folder in folders():
        if folder != SOURCE:
            build = (folder.parent / "meson.build").read_text(encoding="utf-8")
            assert f"subdir('{folder.name}')" in build


def modules_after(code):
    code += "; import sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_from_the_source_tree(tmp_path):
    compiled = ("*.so", "*.pyd", "__pycache__")
    shutil.copytree(SOURCE, tmp_path / "lacforest", ignore=shutil.ignore_patterns(*compiled))
    # Without site-packages, where an editable installation would answer for the source tree.
    call = [sys.executable, "-S", "-c", "import lacforest"]
    done = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: lacforest cannot be imported from its source tree, {tmp_path}, because the "
        "compiled modules are not there. Install it first, by make demo or pip install ., and then "
        "start Python in another folder."
    )
    # An installation without its compiled modules is broken, and says which one is missing.
    (tmp_path / "lacforest" / "meson.build").unlink()
    call[-1] = "import lacforest; lacforest.GiniCriterion"
    done = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stderr.splitlines()[-1].startswith(
        "ModuleNotFoundError: No module named 'lacforest"
    )


def test_import_stays_light():
    heavy = {"torch", "matplotlib", "pandas", "polars", "pyarrow", "pytest", "IPython"}
    # scikit-learn >= 1.9 imports pandas if it is installed, which we cannot prevent.
    of_scikit_learn = modules_after("import sklearn.base, sklearn.utils.parallel")
    assert not heavy & (modules_after("import lacforest") - of_scikit_learn)


@pytest.mark.parametrize("command", ["predict", "inspect"])
def test_commands_that_apply_a_model_import_no_scikit_learn(command):
    heavy = {"sklearn", "scipy", "joblib"}
    assert not heavy & modules_after(f"import lacforest.cli._{command}")


def test_our_own_files_import_nothing_heavy():
    for path in SOURCE.rglob("*.py"):
        if "neural" in path.relative_to(SOURCE).parts:
            continue
        at_top = re.findall(r"^(?:import|from) (\w+)", path.read_text(encoding="utf-8"), re.M)
        assert not {"torch", "matplotlib", "pandas", "polars"} & set(at_top), path


def test_the_core_needs_no_scikit_learn():
    for name in ("criterion", "keys", "ranks", "search", "partition", "grower"):
        code = (
            "import sys, types, importlib.util; "
            # The package itself imports the estimator: load the core without running it.
            "spec = importlib.util.find_spec('lacforest'); "
            "package = types.ModuleType('lacforest'); "
            "package.__path__ = spec.submodule_search_locations; "
            "package.__spec__ = spec; sys.modules['lacforest'] = package; "
            f"import lacforest._tree.{name}"
        )
        assert "sklearn" not in modules_after(code)


def test_public_names():
    import lacforest

    assert sorted(lacforest.__all__) == lacforest.__all__
    for name in lacforest.__all__:
        assert getattr(lacforest, name) is not None


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("pyproject.toml", r'^version = "(.*)"'),
        ("meson.build", r"^  version: '(.*)',"),
        ("CITATION.cff", r"^version: (.*)$"),
    ],
)
def test_the_version_is_the_same_everywhere(file, pattern):
    import lacforest

    named = re.search(pattern, (SOURCE.parent / file).read_text(encoding="utf-8"), re.M)
    assert named[1] == lacforest.__version__


def test_no_two_classes_have_one_name():
    places = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(path.relative_to(SOURCE).as_posix())
    assert {name: files for name, files in places.items() if len(files) > 1} == {}

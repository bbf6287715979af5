"""Check an installed lacforest: all files are present, every module imports, and a fit works.

Run this with ``python -I`` in the environment where the package is installed. The checkout that
contains this script provides the list of expected files; nothing is imported from it.
"""

import importlib
import importlib.util
import pkgutil
import sys
import sysconfig
from pathlib import Path

import lacforest

HEAVY = {"torch", "matplotlib", "pandas"}.intersection(sys.modules)

CHECKOUT = Path(__file__).resolve().parents[1] / "lacforest"
INSTALLED = Path(lacforest.__file__).resolve().parent


def import_modules() -> set[str]:
    """Import every module of the package except ``__main__`` modules, and return their names.

    If torch is not installed, importing lacforest.neural must raise an error that says so.
    """
    names = {"lacforest"}
    has_torch = importlib.util.find_spec("torch") is not None

    def complain(name: str) -> None:
        if has_torch or name != "lacforest.neural":
            importlib.import_module(name)

    for module in pkgutil.walk_packages(lacforest.__path__, "lacforest.", onerror=complain):
        if module.name == "lacforest.neural" and not has_torch:
            expect_hint(module.name)
        elif not module.name.endswith(".__main__"):
            importlib.import_module(module.name)
            names.add(module.name)
    return names


def expect_hint(name: str) -> None:
    """Import a module that needs an extra, and check that the error names the extra."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if "[deep]" in str(error):
            return
        raise
    sys.exit(f"{name} imports without torch")


def missing_files(imported: set[str]) -> list[str]:
    """List files that are not installed and compiled modules that were not imported."""
    missing = []
    for source in sorted(CHECKOUT.rglob("*")):
        path = source.relative_to(CHECKOUT)
        if source.suffix in {".py", ".pyi"} or source.name == "py.typed":
            found = (INSTALLED / path).is_file()
        elif source.suffix == ".pyx":
            found = ".".join(["lacforest", *path.with_suffix("").parts]) in imported
        else:
            continue
        if not found:
            missing.append(str(path))
    return missing


def fit_a_forest() -> None:
    """Fit and predict on random numbers; check the shape and the labels of the result."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.repeat([0, 1], 30)
    U = rng.normal(size=(80, 3))
    forest = lacforest.LACForestClassifier(n_estimators=5, theta=0.5, random_state=0)
    labels = forest.fit(X, y, X_unlabeled=U).predict(U)
    if labels.shape != (80,) or not set(labels) <= set(forest.classes_):
        sys.exit(f"predict returned {labels!r} for classes {forest.classes_!r}")


def main() -> None:
    """Run all checks; exit with a message at the first failure."""
    expected = Path(sysconfig.get_path("platlib")).resolve() / "lacforest"
    if expected != INSTALLED:
        sys.exit(f"lacforest was imported from {INSTALLED}, not from {expected}")
    if HEAVY:
        sys.exit(f"import lacforest also imports {', '.join(sorted(HEAVY))}")
    imported = import_modules()
    if missing := missing_files(imported):
        sys.exit("not installed: " + ", ".join(missing))
    fit_a_forest()
    print(f"lacforest {lacforest.__version__}: {len(imported)} modules imported, a forest fitted")


if __name__ == "__main__":
    main()

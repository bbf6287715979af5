import importlib
import os
import sysconfig
from pathlib import Path

import hypothesis
import pytest

import lacforest

hypothesis.settings.register_profile("default", deadline=None, print_blob=True)
# In CI, repeated runs must give the same result: no randomness, no stored failures.
hypothesis.settings.register_profile(
    "ci", deadline=None, print_blob=True, derandomize=True, database=None
)
# make fuzz: many examples, new ones in every run.
hypothesis.settings.register_profile(
    "fuzz", parent=hypothesis.settings.get_profile("default"), max_examples=20_000
)
# tools/mutants.py: which example fails does not matter, so none is made smaller.
hypothesis.settings.register_profile(
    "mutants",
    parent=hypothesis.settings.get_profile("ci"),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
_IN_CI = os.environ.get("CI", "").lower() in ("1", "true")
hypothesis.settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if _IN_CI else "default")
)


@pytest.fixture
def global_random_seed():
    """Seed of tests that must pass for any seed; LACFOREST_TEST_SEED chooses another one."""
    return int(os.environ.get("LACFOREST_TEST_SEED", "42"))


# Tests draw without a display.
os.environ["MPLBACKEND"] = "Agg"


@pytest.fixture
def close_figures():
    """Close all figures of matplotlib after the test."""
    yield
    importlib.import_module("matplotlib.pyplot").close("all")


def pytest_report_header():
    return f"lacforest {lacforest.__version__} from {Path(lacforest.__file__).parent}"


def pytest_configure():
    """Refuse to test the source tree where an installed wheel was meant."""
    installed = Path(sysconfig.get_path("platlib")).resolve()
    tested = Path(lacforest.__file__).resolve()
    if os.environ.get("LACFOREST_TEST_INSTALLED") and not tested.is_relative_to(installed):
        raise pytest.UsageError(f"lacforest comes from {tested.parent}, not from {installed}")

import os

import hypothesis
import pytest

hypothesis.settings.register_profile("default", deadline=None, print_blob=True)
# In CI a red build must stay red when it is run again: no randomness, no memory of past failures.
hypothesis.settings.register_profile(
    "ci", deadline=None, print_blob=True, derandomize=True, database=None
)
_IN_CI = os.environ.get("CI", "").lower() in ("1", "true")
hypothesis.settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if _IN_CI else "default")
)


@pytest.fixture
def global_random_seed():
    """Seed of tests that must pass for any seed; LACFOREST_TEST_SEED chooses another one."""
    return int(os.environ.get("LACFOREST_TEST_SEED", "42"))

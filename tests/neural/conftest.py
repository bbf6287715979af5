"""Tests of lacforest.neural need torch; without it they are skipped."""

import pytest

try:
    import safetensors  # noqa: F401
    import torch
except ModuleNotFoundError:
    torch = None


class _WithoutTorch(pytest.Module):
    """A test file that is skipped without being imported."""

    def collect(self):
        pytest.skip("torch or safetensors is not installed (extra [deep])")


def pytest_pycollect_makemodule(module_path, parent):
    return None if torch else _WithoutTorch.from_parent(parent, path=module_path)


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Use one thread: networks this small are slower on more, especially on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)

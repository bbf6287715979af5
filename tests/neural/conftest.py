"""Tests of lacforest.neural need torch; without it they are skipped."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (extra [deep])")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra [deep])")


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Networks this small are slower on more threads, far slower on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)

import pytest
from model_files import small_model


@pytest.fixture
def path(tmp_path):
    """An intact model file, not compressed."""
    small_model().save(tmp_path / "a model.lac", compress=False)
    return tmp_path / "a model.lac"

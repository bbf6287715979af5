"""A forest whose file is small, and the error that a damaged copy of it must raise."""

import pytest
from two_blobs import fitted_forest

from lacforest import LACForestClassifier
from lacforest._model.container import ModelFileError


def small_model():
    """A forest whose file is small enough to be damaged in many ways."""
    return fitted_forest(n_estimators=2, max_depth=4)


def assert_not_loaded(path, match=""):
    with pytest.raises(ModelFileError, match=rf"a model\.lac cannot be loaded: (?s:.*){match}"):
        LACForestClassifier.load(path)

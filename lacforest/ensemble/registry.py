"""The forests by the names that commands and experiments use."""

from __future__ import annotations

from lacforest.ensemble.base import BaseLACForest
from lacforest.ensemble.extra_trees import LACExtraTreesClassifier
from lacforest.ensemble.forest import LACForestClassifier

FORESTS: dict[str, type[BaseLACForest]] = {
    "lacforest": LACForestClassifier,
    "lacextratrees": LACExtraTreesClassifier,
}

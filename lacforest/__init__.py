"""lacforest: forests that learn with an augmented class.

Train on labelled rows of known classes plus unlabelled rows from deployment, then predict a known
class or "new". An independent implementation of "On the Learning with Augmented Class via
Forests" (Xu, Chen and Gao, IJCAI 2025).
"""

import importlib as _importlib
from importlib.util import find_spec as _find_spec
from pathlib import Path as _Path
from typing import TYPE_CHECKING
from typing import Any as _Any

from lacforest._utils.version import __version__

if TYPE_CHECKING:
    from lacforest._tree.criterion import AugmentedGiniCriterion, GiniCriterion
    from lacforest.ensemble import LACExtraTreesClassifier, LACForestClassifier

_folder = _Path(__file__).parent
# Only a source tree has the build files, and only an installation the compiled modules.
if (_folder / "meson.build").is_file() and _find_spec("lacforest._tree.criterion") is None:
    raise ImportError(
        f"lacforest cannot be imported from its source tree, {_folder.parent}, because the "
        "compiled modules are not there. Install it first, by make demo or pip install ., and "
        "then start Python in another folder."
    )

__all__ = [
    "AugmentedGiniCriterion",
    "GiniCriterion",
    "LACExtraTreesClassifier",
    "LACForestClassifier",
    "__version__",
]

# The forests need scikit-learn, whose import takes longer than most commands: import them on first
# use.
_MODULES = {
    "AugmentedGiniCriterion": "lacforest._tree.criterion",
    "GiniCriterion": "lacforest._tree.criterion",
    "LACExtraTreesClassifier": "lacforest.ensemble",
    "LACForestClassifier": "lacforest.ensemble",
}


def __getattr__(name: str) -> _Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'lacforest' has no attribute {name!r}")
    value = getattr(_importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})

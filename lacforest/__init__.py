"""lacforest: forests that learn with an augmented class.

Train on labelled rows of known classes plus unlabelled rows from deployment, then predict a known
class or "new". An independent implementation of "On the Learning with Augmented Class via
Forests" (Xu, Chen and Gao, IJCAI 2025).
"""

from pathlib import Path as _Path

try:
    from lacforest._tree.criterion import AugmentedGiniCriterion, GiniCriterion
except ModuleNotFoundError as error:
    _folder = _Path(__file__).parent
    # Only a source tree has the build files, and only an installation the compiled modules.
    if not (_folder / "meson.build").is_file():
        raise
    raise ImportError(
        f"lacforest cannot be imported from its source tree, {_folder.parent}, because the "
        "compiled modules are not there. Install it first, by make demo or pip install ., and "
        "then start Python in another folder."
    ) from error

from lacforest._utils.version import __version__
from lacforest.ensemble import LACExtraTreesClassifier, LACForestClassifier

__all__ = [
    "AugmentedGiniCriterion",
    "GiniCriterion",
    "LACExtraTreesClassifier",
    "LACForestClassifier",
    "__version__",
]

"""lacforest: forests that learn with an augmented class.

Train on labelled rows of known classes plus unlabelled rows from deployment, then predict a known
class or "new". An independent implementation of "On the Learning with Augmented Class via
Forests" (Xu, Chen and Gao, IJCAI 2025).
"""

from lacforest._extra_trees import LACExtraTreesClassifier
from lacforest._forest import LACForestClassifier
from lacforest._tree._criterion import AugmentedGiniCriterion, GiniCriterion

__version__ = "0.1.0"

__all__ = [
    "AugmentedGiniCriterion",
    "GiniCriterion",
    "LACExtraTreesClassifier",
    "LACForestClassifier",
    "__version__",
]

"""The compared methods of the paper's Table 1, with the contract of LACForestClassifier."""

from lacforest.baselines._eulac import EULACClassifier
from lacforest.baselines._evm import EVMClassifier
from lacforest.baselines._glac import GLACClassifier
from lacforest.baselines._lacu_svm import LACUSVMClassifier
from lacforest.baselines._osnn import OSNNClassifier
from lacforest.baselines._ovr_svm import OVRSVMClassifier
from lacforest.baselines._pac_iforest import PACIsolationForestClassifier

__all__ = [
    "EULACClassifier",
    "EVMClassifier",
    "GLACClassifier",
    "LACUSVMClassifier",
    "OSNNClassifier",
    "OVRSVMClassifier",
    "PACIsolationForestClassifier",
]

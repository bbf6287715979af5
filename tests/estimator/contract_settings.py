"""Settings of the classifiers in the tests of their contract."""

# Small enough to be fast, and still right. A classifier without an entry here fails the tests.
_NETWORK = {"hidden": (32,), "epochs": 30, "batch_size": 32, "device": "cpu"}
_GENERATOR = {"generator_epochs": 20, "n_generated": 60}
SETTINGS = {
    "LACForestClassifier": {"n_estimators": 10},
    "LACExtraTreesClassifier": {"n_estimators": 10, "n_explorers": 10},
    "DeepLACForestClassifier": {
        "depth": 4,
        "hidden": (16,),
        "epochs": 40,
        "batch_size": 64,
        "learning_rate": 0.2,
        "device": "cpu",
    },
    "HybridLACForestClassifier": _NETWORK | {"epochs": 15, "depth": 4, "n_grown_trees": 10},
    "GLACClassifier": {"max_iter": 400, "learning_rate": 0.1},
    "EULACClassifier": {"gamma": 2.0, "regularization": 0.01},
    "EVMClassifier": {},
    "LACUSVMClassifier": {"kernel": "rbf", "gamma": "scale"},
    "OSNNClassifier": {},
    "OVRSVMClassifier": {},
    "PACIsolationForestClassifier": {"n_estimators": 50, "max_samples": 0.5, "q": 0.1},
    "DeepGLACClassifier": _NETWORK | {"learning_rate": 1e-2},
    "DeepEULACClassifier": _NETWORK | {"learning_rate": 1e-2},
    "SoftmaxThresholdClassifier": _NETWORK,
    "OpenMaxClassifier": _NETWORK,
    "GOpenMaxClassifier": _NETWORK | _GENERATOR,
    "OSRCIClassifier": _NETWORK | _GENERATOR | {"n_steps": 5},
    "ARPLClassifier": _NETWORK,
}

"""
Prediction without Python
=========================

``to_onnx`` converts a forest to a model that any ONNX runtime can run: in a service written in another language, in a browser,
or on a device. The model gives the same predictions as the forest, also for missing values.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_digits

from lacforest import LACForestClassifier
from lacforest.export import to_onnx
from lacforest.model_selection import make_augmented_split

X, y = load_digits(return_X_y=True)
X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan  # a tenth of the pixels is missing
split = make_augmented_split(
    X, y, n_labeled=350, n_unlabeled=500, n_test=350, theta=0.4, random_state=0
)
forest = LACForestClassifier(random_state=0)
forest.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
model = to_onnx(forest)
print(
    f"{len(model.SerializeToString()) / 1e6:.2f} MB;",
    {m.key: m.value for m in model.metadata_props},
)

# %%
# Run the model
# -------------
# The input is float32. Thresholds are rounded such that each float32 row takes the same path as in the forest.
session = onnxruntime.InferenceSession(model.SerializeToString())
rows = split.X_test.astype(np.float32)
label, probabilities, novelty = session.run(None, {"X": rows})
print(f"labels that differ: {(label != forest.predict(rows)).sum()} of {len(rows)}")
print(
    f"largest difference of probabilities: {np.abs(probabilities - forest.predict_proba(rows)).max():.1e}"
)

# %%
is_new = split.y_test == -1
figure, ax = plt.subplots(figsize=(5, 4.4), layout="constrained")
ax.plot([0, 1], [0, 1], color="#707070", lw=1, ls=":")
ax.scatter(
    forest.novelty_score(rows)[~is_new], novelty[~is_new], s=14, color="#0072B2", label="known"
)
ax.scatter(forest.novelty_score(rows)[is_new], novelty[is_new], s=14, color="#D55E00", label="new")
ax.set(xlabel="novelty score of the forest", ylabel="novelty score by onnxruntime")
ax.legend()
plt.show()

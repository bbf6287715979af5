"""
Three violations of the assumptions
===================================

The method assumes that the unlabelled rows consist of the known classes *as labelled*, plus something new. This example violates
the assumption on purpose and shows what ``diagnose`` detects.
"""

# %%
# Four tables
# -----------
# The first table has two known blobs and a new one, as assumed. In the other tables, the known blobs drift, the new rows are
# mixed with the known ones, or one known class becomes rare in deployment. Theta is the share of new rows among the unlabelled
# ones.
import warnings

import matplotlib.pyplot as plt
import numpy as np

from lacforest import LACForestClassifier
from lacforest.mixture import ThetaWarning, diagnose

# Silence the warnings about an undetermined theta; the plots show the effect.
warnings.simplefilter("ignore", ThetaWarning)

rng = np.random.default_rng(0)


def blob(center, n, spread=1.0):
    """Draw rows around a point."""
    return np.asarray(center) + rng.normal(scale=spread, size=(n, 2))


def known_rows(n, shift=0.0, share=0.5):
    """Draw rows of classes 0 and 1, and return them with their labels."""
    n_first = round(share * n)
    rows = np.vstack([blob((-3 + shift, shift), n_first), blob((3 + shift, shift), n - n_first)])
    return rows, np.repeat([0, 1], [n_first, n - n_first])


X, y = known_rows(400)
tables = {
    "as assumed": (known_rows(400)[0], blob((0, 6), 200)),
    "known classes drifted": (known_rows(400, shift=0.9)[0], blob((0, 6), 200)),
    "new rows look known": (known_rows(400)[0], known_rows(200)[0] + rng.normal(0, 0.5, (200, 2))),
    "one class became rare": (known_rows(400, share=0.1)[0], blob((0, 6), 200)),
}
figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), layout="constrained", sharey=True)
for ax, (title, (known, new)) in zip(axes, tables.items(), strict=True):
    X_unlabeled = np.vstack([known, new])
    forest = LACForestClassifier(random_state=0).fit(X, y, X_unlabeled=X_unlabeled)
    called_new = forest.predict(X_unlabeled) == -1
    ax.scatter(*X.T, s=8, color="#0072B2", alpha=0.4, label="labelled")
    ax.scatter(*X_unlabeled[~called_new].T, s=8, color="#707070", label="unlabelled")
    ax.scatter(*X_unlabeled[called_new].T, s=8, color="#D55E00", label="called new")
    ax.set_title(f"{title}\ntrue θ 0.33, estimate {forest.theta_:.2f}", fontsize="medium")
axes[0].legend(fontsize="small")
plt.show()

# %%
# The diagnosis
# -------------
# Drift appears as new rows. A change of class frequencies is detected too. New rows that are mixed with known ones cannot be
# detected: the estimate of theta is too low, and no test on these two tables can reveal it.
for title, (known, new) in tables.items():
    report = diagnose(X, np.vstack([known, new]), y, random_state=0)
    print(f"--- {title}: theta {report.theta:.2f}, sound: {report.is_sound}")
    for finding in report.findings:
        if finding.level != "ok":
            print(f"[{finding.level}] {finding.topic}: {finding.text}")

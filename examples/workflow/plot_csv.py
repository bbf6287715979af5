"""
From CSV files to predictions
=============================

One file contains labelled rows, another one rows from production. Which rows from production belong to none of the labelled
classes? In a shell, ``lacforest fit``, ``lacforest predict`` and ``lacforest report`` answer the same question.
"""

# %%
# The files
# ---------
# The labelled file contains wines of two cultivars; the file from production contains a third one as well. To make the example
# realistic, there is a text column, and some cells are empty.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from lacforest import LACForestClassifier
from lacforest.inspection import new_versus_known_importances
from lacforest.tabular import TabularModel, read_table

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
wine = load_wine(as_frame=True)
table = wine.frame.assign(kind=wine.target_names[wine.target]).drop(columns="target")
table["colour"] = pd.cut(
    table.pop("color_intensity"), [0, 4, 7, 99], labels=["light", "red", "deep"]
)
numbers = [column for column in table.columns if column not in ("kind", "colour")]
table[numbers] = table[numbers].mask(rng.random((len(table), len(numbers))) < 0.05)
table = table.sample(frac=1, random_state=0)
labelled = table[table["kind"] != "class_2"][:60]
production = table.drop(labelled.index)
labelled.to_csv(folder / "labelled.csv", index=False)
production.drop(columns="kind").to_csv(folder / "production.csv", index=False)
print((folder / "labelled.csv").read_text().split("\n")[0])
print(*(folder / "production.csv").read_text().split("\n")[1:3], sep="\n")

# %%
# Fit, score, save
# ----------------
# ``TabularModel`` encodes text columns, stores the encoding with the forest, and checks that later files have the same columns
# as the training file. Theta is the share of rows from production that are new.
rows = read_table(folder / "labelled.csv")
deployed = read_table(folder / "production.csv")
model = TabularModel(LACForestClassifier(random_state=0)).fit(rows, "kind", deployed)
model.save(folder / "wine.lac")
scored = TabularModel.load(folder / "wine.lac").predict(deployed)
print(scored.head())
low, high = model.forest.theta_interval_
print(f"theta {model.forest.theta_:.2f}, between {low:.2f} and {high:.2f};", end=" ")
print(f"true value {(production['kind'] == 'class_2').mean():.2f}")

# %%
# Comparison with the true labels, which would not be available in production:
print(pd.crosstab(production["kind"].to_numpy(), scored["predicted_label"].to_numpy()))

# %%
# Which columns separate the new rows from the known ones?
importances = pd.Series(new_versus_known_importances(model.forest), model.coder.feature_names)
importances = importances.sort_values()[-8:]
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
axes[0].barh(importances.index, importances, color="#D55E00")
axes[0].set_xlabel("importance for new versus known")
is_new = (production["kind"] == "class_2").to_numpy()
bins = np.linspace(0, 1, 21)
axes[1].hist(scored["novelty_score"][~is_new], bins, color="#0072B2", alpha=0.7, label="known")
axes[1].hist(scored["novelty_score"][is_new], bins, color="#D55E00", alpha=0.7, label="class_2")
axes[1].set(xlabel="novelty score", ylabel="rows of production.csv")
axes[1].legend()
plt.show()

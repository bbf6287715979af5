"""
From a folder of images to a contact sheet of new ones
======================================================

One folder contains PNG files of known kinds, one subfolder per kind; another one contains files from production. Which of the
latter show something else? This example requires torch (extra ``[deep]``).
"""

# %%
# The files
# ---------
# To make the example self-contained, the images are handwritten digits, which are written as PNG files first. Digits 7, 8 and 9
# occur in production only.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from lacforest.neural import DeepLACForestClassifier

folder = Path(tempfile.mkdtemp())
digits = load_digits()
rng = np.random.default_rng(0)
in_production = (digits.target > 6) | (rng.random(len(digits.target)) < 0.3)
for number, (image, kind) in enumerate(zip(digits.images, digits.target, strict=True)):
    place = folder / ("production" if in_production[number] else f"known/{kind}")
    place.mkdir(parents=True, exist_ok=True)
    plt.imsave(place / f"{kind}-{number:04}.png", image, cmap="gray", vmin=0, vmax=16)


# %%
# Reading
# -------
# Images are arrays of bytes of shape (n_images, channels, height, width). All files must have one size; use the Pillow library to
# resize photographs.
def read_images(files):
    """Grey images as bytes."""
    grey = [plt.imread(file)[:, :, 0] for file in files]
    return (255 * np.stack(grey)).astype(np.uint8)[:, None]


known_files = sorted((folder / "known").glob("*/*.png"))
production_files = sorted((folder / "production").glob("*.png"))
kinds = [file.parent.name for file in known_files]
known, production = read_images(known_files), read_images(production_files)
print(f"{len(known)} known images of {len(set(kinds))} kinds, {len(production)} from production")

# %%
# Training
# --------
# The settings of ``fast`` need a few epochs on a CPU; theta, the share of new images in production, is estimated.
forest = DeepLACForestClassifier.fast(epochs=25, random_state=0, device="cpu")
forest.fit(known, kinds, X_unlabeled=production)
predicted = forest.predict(production)
truth = np.array([file.name[0] for file in production_files])
is_new = np.isin(truth, ["7", "8", "9"])
print(f"theta {forest.theta_:.2f}, true value {is_new.mean():.2f}")
print(f"{np.mean((predicted == '<new>') == is_new):.1%} of the images are flagged correctly")

# %%
# Contact sheet
# -------------
# The 40 images with the highest novelty scores. File names, which the forest has not seen, begin with the digit; a red title marks
# an image of a known kind.
order = np.argsort(-forest.novelty_score(production))[:40]
figure, panels = plt.subplots(4, 10, figsize=(9, 4.2))
for panel, number in zip(panels.flat, order, strict=True):
    panel.imshow(production[number, 0], cmap="gray")
    panel.set_title(truth[number], size=8, color="black" if is_new[number] else "red")
    panel.axis("off")
figure.suptitle("Most novel images")
plt.show()

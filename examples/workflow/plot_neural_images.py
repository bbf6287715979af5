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
from PIL import Image
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
# Images are arrays of bytes of shape (n_images, channels, height, width). Pillow opens files of any kind and size and brings them
# to one size. The digits are grey and small; for photographs, use ``mode="RGB"`` and ``size=(32, 32)``, for example.
def read_images(files, size=(8, 8), mode="L"):
    """Images as bytes, channels first."""
    pixels = [np.asarray(Image.open(file).convert(mode).resize(size)) for file in files]
    images = np.stack(pixels)
    return images[:, None] if mode == "L" else images.transpose(0, 3, 1, 2)


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
# The flagged images, most novel first, with the names of their files. The forest has not seen these names, which begin with the
# digit; a red title marks an image of a known kind.
score = forest.novelty_score(production)
flagged = np.flatnonzero(predicted == forest.new_label_)
flagged = flagged[np.argsort(-score[flagged])]
print(f"{len(flagged)} images are flagged; the sheet shows every {len(flagged) // 40}th")
figure, panels = plt.subplots(4, 10, figsize=(9, 4.6))
for panel, number in zip(panels.flat, flagged[:: len(flagged) // 40], strict=False):
    panel.imshow(production[number, 0], cmap="gray")
    panel.set_title(
        production_files[number].stem, size=7, color="black" if is_new[number] else "red"
    )
    panel.axis("off")
figure.suptitle("Flagged images")
plt.show()

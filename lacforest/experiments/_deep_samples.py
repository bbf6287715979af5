"""Images that the generators of the compared methods make, to be looked at beside real ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist

from lacforest.experiments._deep_table import (
    CONFUSED,
    TableExperiment,
    TableJob,
    TableOptions,
    TableResults,
    fit_method,
)
from lacforest.experiments._figures import make_panels, save_figure
from lacforest.experiments._tables import PrintedColumn

SAMPLED_METHODS = ("G-OpenMax", "OSRCI", CONFUSED)
_N_SHOWN = 12
# Images of either kind that distances are measured on.
_N_MEASURED = 200


class SampleExperiment(TableExperiment):
    """Trains each method and keeps some of its generated images.

    Parameters
    ----------
    options : TableOptions
    """

    def __init__(self, options: TableOptions) -> None:
        without = [method for method in options.methods if method not in SAMPLED_METHODS]
        if without:
            raise ValueError(
                f"{without[0]!r} generates no images: methods are {', '.join(SAMPLED_METHODS)}"
            )
        super().__init__(options)

    def _run_job(self, job: TableJob) -> dict[str, Any]:
        split, model, _ = fit_method(self._images.draw, self._options, job)
        rng = np.random.default_rng(0)
        known = split.test[split.y_test != -1]
        real = _as_shares(known[rng.permutation(len(known))[:_N_MEASURED]])
        made = model.generated_
        made = made[rng.permutation(len(made))[:_N_MEASURED]]
        return {
            **_compare(made, real, _as_shares(split.labeled)),
            "real_images": _as_bytes(real[:_N_SHOWN]).tolist(),
            "images": _as_bytes(made[:_N_SHOWN]).tolist(),
        }


def _as_shares(images: NDArray[Any]) -> NDArray[Any]:
    """Pixels in [0, 1], as networks take them."""
    return images / np.float32(255) if images.dtype == np.uint8 else images


def _as_bytes(images: NDArray[Any]) -> NDArray[np.uint8]:
    scaled: NDArray[np.uint8] = np.rint(255 * np.clip(images, 0.0, 1.0)).astype(np.uint8)
    return scaled


def _compare(made: NDArray[Any], real: NDArray[Any], labeled: NDArray[Any]) -> dict[str, float]:
    """Distances of generated images in relation to those of real images that were not seen.

    `variety` compares the mean distance of two images: a generator whose images are all alike is
    near 0. `strangeness` compares the mean distance to the nearest training image: copies are near
    0, images of the known classes near 1, noise is far above.
    """
    made, real, labeled = (rows.reshape(len(rows), -1) for rows in (made, real, labeled))
    nearest = [float(cdist(rows, labeled).min(axis=1).mean()) for rows in (made, real)]
    return {
        "variety": float(pdist(made).mean() / pdist(real).mean()),
        "strangeness": nearest[0] / nearest[1],
    }


def sample_rows(results: TableResults) -> tuple[list[PrintedColumn], list[dict[str, Any]]]:
    """One row per dataset, choice and method, for `render`."""
    columns = [
        PrintedColumn("dataset", "dataset"),
        PrintedColumn("classes", "choice"),
        PrintedColumn("method", "method"),
        PrintedColumn("variety", "variety", ".2f"),
        PrintedColumn("strangeness", "strangeness", ".2f"),
    ]
    rows = [
        {
            "dataset": job.dataset,
            "choice": f"choice {job.choice + 1}",
            "method": job.method,
            **{name: result[name] for name in ("variety", "strangeness")},
        }
        for job, result in results
    ]
    return columns, rows


def draw_samples(results: TableResults, path: Any) -> None:
    """One panel per dataset and choice: a row of real images, then one row per method.

    Parameters
    ----------
    results : list of (TableJob, dict)
    path : path
        The picture to write; its suffix is the format.
    """
    places = list(dict.fromkeys((job.dataset, job.choice) for job, _ in results))
    figure, grid = make_panels(len(places), 1, (7.0, 2.6))
    for panel, (dataset, choice) in zip(grid.flat, places, strict=True):
        own = [(job, r) for job, r in results if (job.dataset, job.choice) == (dataset, choice)]
        strips = [own[0][1]["real_images"], *(result["images"] for _, result in own)]
        names = ["real", *(job.method for job, _ in own)]
        tiles = np.array(strips, dtype=np.uint8)  # methods, images, channels, height, width
        n_rows, n_shown, channels, height, width = tiles.shape
        sheet = tiles.transpose(0, 3, 1, 4, 2).reshape(n_rows * height, n_shown * width, channels)
        panel.imshow(sheet[..., 0] if channels == 1 else sheet, cmap="gray_r", vmin=0, vmax=255)
        panel.set_yticks(height * (np.arange(n_rows) + 0.5), names)
        panel.set_xticks([])
        panel.tick_params(length=0)
        panel.spines[:].set_visible(False)
        panel.set_title(f"{dataset}, choice {choice + 1}")
    save_figure(figure, path)

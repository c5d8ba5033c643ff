"""The pages of a mock web: a folder of files, and `routes.yaml` for what a folder cannot say.

Every file is a page at its path; `index.html` is also the page of its folder. See docs/tasks.md for the routes.
"""

from __future__ import annotations

import json
import math
import mimetypes
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, quote, urlencode

import msgspec

from hemra.datasets.yamlfile import parse_yaml
from hemra.errors import UsageError

ROUTES = ("routes.yaml", "routes.json")
MAX_PAGE_BYTES = 1024 * 1024
SNIPPET = 160
_READ = (".html", ".htm", ".txt", ".md")
_TYPES = {".md": "text/markdown", ".json": "application/json", ".txt": "text/plain"}

_Path = Annotated[str, msgspec.Meta(pattern="^/")]
_Count = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class Page(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One route. Content is `file` (in the corpus), `text`, or `items` (a JSON list in the corpus, shown in pages of
    `page_size`); or `redirect`. The first `fail_times` requests get `fail_status`. Every answer waits
    `delay_seconds`."""

    file: str | None = None
    text: str | None = None
    items: str | None = None
    redirect: str | None = None
    page_size: _Count = 10
    status: Annotated[int, msgspec.Meta(ge=200, le=599)] = 200
    delay_seconds: Annotated[float, msgspec.Meta(ge=0, le=60)] = 0.0
    fail_times: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0
    fail_status: Annotated[int, msgspec.Meta(ge=400, le=599)] = 503


class Search(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The search: all words of `?q=` must be in a page; results come in pages of `page_size`."""

    path: _Path = "/search"
    page_size: _Count = 10


class Routes(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The content of `routes.yaml`."""

    pages: dict[_Path, Page] = {}
    search: Search | None = Search()


@dataclass(frozen=True)
class Answer:
    """What a request gets, after `delay_seconds`."""

    status: int
    content: bytes
    kind: str = "text/plain; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    delay_seconds: float = 0.0


@dataclass(frozen=True)
class _Text:
    """A page as search sees it."""

    url: str
    title: str
    text: str


@dataclass
class Site:
    """The pages of one trial. `failed` counts the refusals that each failing page has given."""

    files: dict[str, bytes]
    routes: Routes = field(default_factory=Routes)
    failed: dict[str, int] = field(default_factory=dict)

    def answer(self, path: str, query: str) -> Answer:
        """The answer to GET `path` (decoded, begins with a slash) with the raw `query`."""
        search, page = self.routes.search, self.routes.pages.get(path)
        asked = {name: values[-1] for name, values in parse_qs(query, keep_blank_values=True).items()}
        if page is not None:
            return self._page(path, page, asked)
        if search is not None and path == search.path:
            return self._search(search, asked)
        found = self._file(path.lstrip("/"))
        return found if found.status != 200 or not self._routed(path) else _missing(path.lstrip("/"))

    def _routed(self, path: str) -> bool:
        """Whether the file at the path belongs to a route, and so is to be had there and nowhere else."""
        own = {page.file or page.items for page in self.routes.pages.values()}
        return path.lstrip("/") in own

    def _page(self, path: str, page: Page, asked: dict[str, str]) -> Answer:
        if self.failed.get(path, 0) < page.fail_times:
            self.failed[path] = self.failed.get(path, 0) + 1
            text = f"{page.fail_status}: not now, try again\n"
            return Answer(
                page.fail_status,
                text.encode(),
                headers=(("Retry-After", "0"),),
                delay_seconds=page.delay_seconds,
            )
        if page.redirect is not None:
            where = (("Location", quote(page.redirect, safe="/:?&=%#")),)
            return Answer(302, b"", headers=where, delay_seconds=page.delay_seconds)
        if page.items is not None:
            found = self._listed(path, json.loads(self.files[page.items]), page.page_size, asked, "items")
        elif page.file is not None:
            found = self._file(page.file)
        else:
            found = Answer(page.status, (page.text or "").encode())
        status = page.status if found.status == 200 else found.status
        return Answer(status, found.content, found.kind, found.headers, page.delay_seconds)

    def _file(self, name: str) -> Answer:
        for candidate in (name, f"{name}/index.html".lstrip("/"), f"{name}index.html"):
            if candidate in self.files and candidate not in ROUTES:
                return Answer(200, self.files[candidate], _kind(candidate))
        return _missing(name)

    def _search(self, search: Search, asked: dict[str, str]) -> Answer:
        words = asked.get("q", "").casefold().split()
        hits = [page for page in self._texts() if words and all(w in page.text.casefold() for w in words)]
        results = [{"title": p.title, "url": p.url, "snippet": _snippet(p.text, words)} for p in hits]
        more = {"q": asked.get("q", "")}
        return self._listed(search.path, results, search.page_size, asked, "results", query=more["q"])

    def _listed(
        self, path: str, items: list[Any], size: int, asked: dict[str, str], name: str, **more: str
    ) -> Answer:
        """A JSON document of one page of a list. A page that is not there is a 404, a page that is no number a 400."""
        pages = max(1, math.ceil(len(items) / size))
        number = asked.get("page", "1")
        if not re.fullmatch(r"\d{1,6}", number):
            return _json({"error": "page must be a number"}, 400)
        page = int(number)
        if not 1 <= page <= pages:
            return _json({"error": f"there is no page {page}", "pages": pages}, 404)
        rest = {key: value for key, value in asked.items() if key != "page"}
        after = f"{path}?{urlencode(rest | {'page': str(page + 1)})}" if page < pages else None
        shown = items[(page - 1) * size : page * size]
        return _json({**more, name: shown, "page": page, "pages": pages, "total": len(items), "next": after})

    def _texts(self) -> list[_Text]:
        """Every page with words in it that can be had, in the order of the addresses."""
        by_file = {page.file: path for path, page in self.routes.pages.items() if page.file}
        found = []
        for name, content in sorted(self.files.items()):
            if name.endswith(_READ):
                text = content.decode("utf-8", "replace")
                title, words = _read_html(text) if name.endswith((".html", ".htm")) else ("", text)
                first = words.strip().partition("\n")[0].lstrip("# ")
                url = by_file.get(name) or "/" + re.sub(r"(?:^|(?<=/))index\.html$", "", name)
                found.append(_Text(url, title or first or name, f"{title}\n{words}"))
        return found


def load_site(files: dict[str, bytes], name: str) -> Site:
    """The site of a corpus, content by path; `name` stands for it in errors. Raises UsageError."""
    routes = Routes()
    for route_file in ROUTES:
        if route_file in files:
            routes = parse_yaml(files[route_file], Routes, f"{name}/{route_file}")
    for path, page in routes.pages.items():
        where = f"{name}: route {path}"
        if sum(what is not None for what in (page.file, page.text, page.items, page.redirect)) > 1:
            raise UsageError(f"{where}: has more than one of file, text, items, redirect")
        for needed in (page.file, page.items):
            if needed is not None and needed not in files:
                raise UsageError(f"{where}: there is no file {needed} in the corpus")
        if page.items is not None:
            _check_items(files[page.items], where)
    return Site(files, routes)


def _check_items(content: bytes, where: str) -> None:
    try:
        items = json.loads(content)
    except ValueError as error:
        raise UsageError(f"{where}: its items are not JSON: {error}") from error
    if not isinstance(items, list):
        raise UsageError(f"{where}: its items must be a JSON list")


def read_corpus(folder: Path) -> dict[str, bytes]:
    """Content by path of the plain files below a folder; no link is followed. Raises UsageError for a large one."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size > MAX_PAGE_BYTES:
            raise UsageError(f"{path}: larger than a page may be ({MAX_PAGE_BYTES} bytes)")
        files[path.relative_to(folder).as_posix()] = path.read_bytes()
    return files


def _missing(name: str) -> Answer:
    return Answer(404, f"404: there is no page /{name}\n".encode())


def _json(document: dict[str, Any], status: int = 200) -> Answer:
    content = json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n"
    return Answer(status, content, "application/json")


def _kind(name: str) -> str:
    suffix = Path(name).suffix
    kind = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


def _snippet(text: str, words: list[str]) -> str:
    flat = " ".join(text.split())
    at = max(0, min((i for w in words if (i := flat.casefold().find(w)) >= 0), default=0) - SNIPPET // 4)
    return flat[at : at + SNIPPET]


class _Words(HTMLParser):
    """Collects the title and the visible text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.title: list[str] = []
        self.words: list[str] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("title", "script", "style"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        inside = self._inside[-1] if self._inside else ""
        if inside == "title":
            self.title.append(data)
        elif not inside:
            self.words.append(data)


def _read_html(text: str) -> tuple[str, str]:
    parser = _Words()
    parser.feed(text)
    parser.close()
    return " ".join("".join(parser.title).split()), "".join(parser.words)

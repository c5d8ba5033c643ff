"""Secrets do not reach the record, however they are written, and whether or not anybody knows them."""

from __future__ import annotations

import base64
import html
import itertools
import json
import random
import re
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventlog.schemas.conversation import ToolCalled
from eventlog.store import Store
from harnesses.credentials import MOST_BEGUN
from hemra.engine.plan import make_plan
from hemra.engine.progress import Quiet
from hemra.engine.request import RunRequest
from hemra.engine.run import start
from hemra.secrets import Redactor
from tests.hemra.engine_driver import events, make_harness, make_task

KEY = 'sk-te"st/0123+4567\\89é'
PLAIN = "sk-test-0123456789abcdef0123456789abcdef"
LABEL = b"[redacted:FAKE_KEY]"


@pytest.mark.parametrize("value", [KEY, PLAIN, "1234567890123"])
@pytest.mark.parametrize(
    "spell",
    [
        lambda v: v.encode(),
        lambda v: json.dumps({"env": v}).encode(),
        lambda v: json.dumps({v: 1}, ensure_ascii=False).encode(),
        lambda v: f"http://127.0.0.1:9/?api_key={quote(v, safe='')}&x=1".encode(),
        lambda v: f"https://example.com/?key={re.sub('%..', lambda f: f[0].lower(), quote(v))}".encode(),
        lambda v: json.dumps({"text": json.dumps({"key": v})}).encode(),
        lambda v: json.dumps(v).replace("/", "\\/").encode(),
        lambda v: f"<td>{html.escape(v)}</td>".encode(),
        lambda v: base64.urlsafe_b64encode(b"u:" + v.encode()),
        lambda v: base64.b64encode(v.encode() + b"\n"),
        lambda v: base64.b64encode(b"u:" + v.encode()),
        lambda v: base64.b64encode(b"x" + v.encode() + b"yz"),
        lambda v: v.encode().hex().encode(),
        lambda v: v.encode().hex().upper().encode(),
        lambda v: v.upper().encode(),
        lambda v: v.encode("utf-16"),
        lambda v: v.encode("utf-16-be"),
    ],
)
def test_every_spelling_is_found_at_every_split(value: str, spell) -> None:
    """A key that is echoed in another spelling, or by two writes, would be published with the results."""
    written = spell(value)
    redactor = Redactor({"FAKE_KEY": value})
    whole = redactor.clean_bytes(written)
    assert LABEL in whole
    assert value.encode() not in whole
    for cut in range(len(written) + 1):
        stream = redactor.stream()
        assert stream.feed(written[:cut]) + stream.feed(written[cut:]) + stream.flush() == whole


def test_only_a_possible_beginning_is_held_back() -> None:
    """A prompt without newline would stay invisible in a live view until the harness ends."""
    stream = Redactor({"FAKE_KEY": PLAIN}).stream()
    assert stream.feed(b"password? ") == b"password? "
    assert stream.feed(b"it is sk-te") == b"it is "
    assert stream.feed(b"nnis!") == b"sk-tennis!"
    assert stream.feed(b"sk-") == b""
    assert stream.flush() == b"sk-"


def test_a_longer_secret_wins_over_one_that_begins_it() -> None:
    """The rest of the longer secret would stay readable."""
    stream = Redactor({"A": "abcdefgh", "B": "abcdefghijkl"}).stream()
    assert stream.feed(b"abcdefgh") == b""
    assert stream.feed(b"ijkl") == b"[redacted:B]"
    assert stream.feed(b"abcdefgh") + stream.feed(b"!") == b"[redacted:A]!"


@given(
    st.lists(st.sampled_from([b"abcabcab", b"bcab", b"abcabcabx", b"zz", b"a", b"\xff"]), max_size=12),
    st.lists(st.integers(0, 60), max_size=6),
)
def test_splitting_never_changes_the_result(pieces: list[bytes], cuts: list[int]) -> None:
    """Where a write happened to be split would decide whether a secret is found."""
    data = b"".join(pieces)
    redactor = Redactor({"ONE": "abcabcab", "TWO": "abcabcabx", "THREE": "cabcabca"})
    stream = redactor.stream()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    parts = [stream.feed(data[a:b]) for a, b in itertools.pairwise(places)]
    single = redactor.stream()
    assert b"".join(parts) + stream.flush() == single.feed(data) + single.flush()


def test_structured_values_stay_structured() -> None:
    """A key as a JSON key, a number or a byte string would slip through, or the JSON would break."""
    redactor = Redactor({"FAKE_KEY": PLAIN, "PIN": "12345678901"})
    called = ToolCalled(
        call="1", name="terminal", arguments={PLAIN: [f"x {PLAIN} y", 12345678901, True, None, 1.5]}, turn=2
    )
    cleaned = redactor.clean_struct(called)
    assert cleaned.arguments == {
        "[redacted:FAKE_KEY]": ["x [redacted:FAKE_KEY] y", "[redacted:PIN]", True, None, 1.5]
    }
    assert redactor.clean_struct(cleaned) is cleaned
    assert redactor.clean(b"\xff" + PLAIN.encode()) == b"\xff" + LABEL
    assert redactor.clean("lone \ud83d " + PLAIN) == "lone \ud83d [redacted:FAKE_KEY]"
    assert redactor.replaced > 0


def test_what_holds_no_secret_is_given_back_as_it_is() -> None:
    """Every byte of every harness would be copied, and every event built anew."""
    for redactor in (Redactor({}), Redactor({"FAKE_KEY": PLAIN})):
        data = b"x" * 1000
        assert redactor.stream().feed(data) is data
        value = {"a": [1, "text", b"bytes", {"b": None}], "hash": "d" * 40}
        assert redactor.clean(value) is value
        assert redactor.counts == {}


def test_keys_that_were_secrets_stay_apart() -> None:
    """Of two entries whose keys are credentials one would be lost."""
    first, second = (f"ghp_{letter * 36}" for letter in "ab")
    assert Redactor({}).clean({first: 1, second: 2, "x": 3}) == {
        "[redacted:github-token]": 1, "[redacted:github-token]#2": 2, "x": 3,
    }  # fmt: skip


# -- credentials by their shape ------------------------------------------------------------------

LETTERS = "aB3dE6gH9j" * 10
LINE = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgHcTz6sE2I2yPB"
PEM = "\n".join(
    ["-----BEGIN RSA PRIVATE KEY-----", *[LINE] * 24, "Qk9ndXM=", "-----END RSA PRIVATE KEY-----"]
)
CIPHERED = PEM.replace(
    "KEY-----\nM", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,3F17F5316E\n\nM", 1
)
PGP = PEM.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK").replace("=\n-", "=\n=njUN\n-")
NUMBERED = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(PEM.split("\n"), 1)).strip()[2:]
JWT = f"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{LETTERS[:43]}"

#: Kind, text before, credential, text behind.
CREDENTIALS = [
    ("github-token", "", "ghp_" + LETTERS[:36], ""),
    ("github-token", "GH=", "gho_" + LETTERS[:36], "\n"),
    ("github-token", "\x1b[32m", "ghs_" + LETTERS[:36], "\x1b[0m"),
    ("github-token", "token%3D", "ghp_" + LETTERS[:36], "%26x"),
    ("github-token", "line\\n", "ghp_" + LETTERS[:36], "\\n"),
    ("github-token", "", f"github_pat_{LETTERS[:22]}_{LETTERS[:59]}", " "),
    ("aws-access-key", "id=", "AKIAIOSFODNN7EXAMPLE", "/20261130/us-east-1"),
    ("aws-access-key", '"', "ASIAIOSFODNN7EXAMPLE", '"'),
    ("aws-secret-key", "aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "\n"),
    ("aws-secret-key", '\\"SecretAccessKey\\": \\"', "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", '\\"'),
    ("jwt", "token=", JWT, "&x=1"),
    ("jwt", "", "eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ." + ".".join([LETTERS[:43]] * 4), ""),
    ("authorization", "> Authorization: Bearer ", "abcdefgh", "\r\n"),
    ("authorization", "'authorization': 'bearer ", "abc.def~ghi+jkl/mno==", "'"),
    ("authorization", "Authorization: Basic ", "dXNlcjpwYXNz", "\n"),
    ("authorization", "Proxy-Authorization: Basic ", "dXNlcjpwYXNz", "\n"),
    ("github-token", "token_", "ghp_" + LETTERS[:36], "\n"),
    ("authorization", "sends Bearer ", LETTERS[:24], " to"),
    ("url-password", "https://user:", "hunter2", "@example.com:8080/x?y"),
    ("url-password", "postgres://me:", "p@ss:w", "@db/x"),
    ("url-password", '{"u":"http:\\/\\/a:', "bcd", '@e"}'),
    ("private-key", "key:\n", PEM, "\nafter"),
    ("private-key", '{"key": "', PEM.replace("\n", "\\n"), '\\n"}'),
    ("private-key", "", PEM.replace("\n", " "), " after"),
    ("private-key", "", CIPHERED, "\nafter"),
    ("private-key", "     1\t", NUMBERED, "\n"),
    ("private-key", "> ", PEM.replace("\n", "\n> "), "\nafter"),
    ("private-key", "", PGP, "\nafter"),
    ("private-key", "$ head -3 key\n", PEM[: PEM.index(LINE) + 130], "$ ls. x\n"),
    ("api-key", "key ", "sk-" + LETTERS[:48], "."),
    ("api-key", "", "sk-ant-api03-" + "aB_-d" * 18, "\n"),
    ("api-key", "", "sk-proj-" + "aB_-d" * 18, "\n"),
    ("api-key", "", PLAIN, "\n"),
    ("slack-token", "", "xoxb-123456789012-abcdefABCDEF", ""),
    ("slack-token", "", "xoxp-123456789012-abcdefABCDEF", ""),
    ("huggingface-token", "", "hf_" + LETTERS[:34], ""),
    ("google-api-key", "?key=", "AIzaSy" + LETTERS[:33], "&x"),
    ("npm-token", "_authToken=", "npm_" + LETTERS[:36], ""),
    ("gitlab-token", "", "glpat-" + LETTERS[:20], ""),
]

NEAR_MISSES = [
    "sk-", "sk-tennis", "a sk-learn model", "sk-toggleable__label-arrow", "disk-0123456789abcdef0123456789",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "da39a3ee5e6b4b0d3255bfef95601890afd80709", "sha256:" + "ab" * 32,
    "AKIA is how they begin", "AKIAIOSFODNN7EXAMPL", "xAKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLEx",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "eyJ.a.b", "object.eyJabc.method.call", "ghp_short", "github_pat_",
    "the bearer of bad news", "Authorization: required", "Authorization: Basic authentication", "Bearer <token>",
    "Authorization: Bearer $TOKEN", "http://localhost:8080/x@y", "git@github.com:a/b.git", "ssh://git@h/x",
    "https://user:${PASSWORD}@host", "https://user:{password}@host", "// a comment: me@example.com", "a://u:@h",
    "npm_config_registry=https://registry", "hf_hub_download(repo_id)", "xoxo", "glpat-short", "AIza",
    "-----BEGIN CERTIFICATE-----\n" + LINE + "\n-----END CERTIFICATE-----",
    "grep -r -- '-----BEGIN RSA PRIVATE KEY-----' .", "-----BEGIN PRIVATE KEY----- is how a key begins.",
    "[redacted:github-token] https://u:[redacted:url-password]@h https://[redacted:[redacted:url-password]@h",
]  # fmt: skip


@pytest.mark.parametrize(("kind", "before", "credential", "behind"), CREDENTIALS)
def test_credentials_that_nobody_told_of_are_found_at_every_split(
    kind: str, before: str, credential: str, behind: str
) -> None:
    """A token that an agent makes, finds or is sent would be published with the results."""
    written = (before + credential + behind).encode()
    redactor = Redactor({})
    whole = redactor.clean_bytes(written)
    assert whole.decode() == f"{before}[redacted:{kind}]{behind}"
    assert (redactor.counts, redactor.replaced) == ({kind: 1}, 1)
    assert Redactor({}).clean_bytes(whole) is whole
    for cut in range(len(written) + 1):
        stream = redactor.stream()
        assert stream.feed(written[:cut]) + stream.feed(written[cut:]) + stream.flush() == whole
        assert stream.counts == {kind: 1}
    single = redactor.stream()
    assert b"".join(single.feed(bytes([byte])) for byte in written) + single.flush() == whole


@pytest.mark.parametrize("text", NEAR_MISSES)
def test_what_only_resembles_a_credential_is_left_alone(text: str) -> None:
    """Hashes, names and prose in the record would be destroyed."""
    for around in ("", " ", "\n"):
        data = f"{around}{text}{around}".encode()
        redactor = Redactor({})
        assert redactor.clean_bytes(data) == data
        stream = redactor.stream()
        assert b"".join(stream.feed(bytes([byte])) for byte in data) + stream.flush() == data
        assert redactor.replaced == 0


def test_the_content_of_files_is_left_alone() -> None:
    """An archive, a program or its base64 would come out damaged."""
    drawn = random.Random(7)
    raw = drawn.randbytes(1_000_000)
    sources = b"".join(path.read_bytes() for path in sorted(Path("hemra").rglob("*.py")))
    for data in (raw, base64.b64encode(raw), base64.encodebytes(raw), raw.hex().encode(), sources):
        assert Redactor({}).clean_bytes(data) == data


PIECES = [text.encode() for _, *parts in CREDENTIALS for text in parts] + [
    each.encode() for each in NEAR_MISSES
]
PIECES += [
    b"\n",
    b" ",
    b"-",
    b"\\",
    b"A" * 20,
    b"1:",
    b"@",
    b"/",
    b":",
    b".",
    b"\xff",
    b"\0",
    b'"',
    LINE.encode(),
]


@given(
    st.lists(
        st.sampled_from(PIECES).flatmap(
            lambda piece: st.tuples(st.just(piece), st.integers(0, 12), st.integers(0, 12))
        ),
        max_size=8,
    ),
    st.lists(st.floats(0, 1), max_size=6),
)
def test_splitting_credentials_never_changes_the_result(
    drawn: list[tuple[bytes, int, int]], cuts: list[float]
) -> None:
    """Where a write happened to be split would decide whether a credential is found."""
    data = b"".join(piece[left : len(piece) - right] for piece, left, right in drawn)
    redactor = Redactor({"FAKE_KEY": PLAIN})
    stream = redactor.stream()
    places = sorted({0, len(data), *(int(cut * len(data)) for cut in cuts)})
    parts = [stream.feed(data[a:b]) for a, b in itertools.pairwise(places)]
    whole = redactor.clean_bytes(data)
    assert b"".join(parts) + stream.flush() == whole
    assert stream.counts.total() * 2 == redactor.replaced


@given(
    st.recursive(
        st.none() | st.integers() | st.sampled_from([piece.decode("latin-1") for piece in PIECES]),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["a", "Authorization", PEM]), inner),
        max_leaves=8,
    ),
    st.booleans(),
)
def test_json_stays_json(value: object, ascii_only: bool) -> None:
    """A log of JSON lines could not be read any more once a credential was in it."""
    text = json.dumps({"twice": json.dumps(value), "once": value}, ensure_ascii=ascii_only)
    cleaned = json.loads(Redactor({}).clean_text(text))
    json.loads(cleaned["twice"])


def test_a_known_value_keeps_its_name() -> None:
    """Nobody could see which of the user's keys the harness printed."""
    redactor = Redactor({"FAKE_KEY": PLAIN, "WHO": "wolfgang"})
    text = f"Authorization: Bearer {PLAIN} https://wolfgang:pass@host"
    assert redactor.clean_text(text) == (
        "Authorization: Bearer [redacted:FAKE_KEY] https://[redacted:WHO]:[redacted:url-password]@host"
    )
    assert redactor.counts == {"FAKE_KEY": 1, "WHO": 1, "url-password": 1}


@pytest.mark.parametrize(
    "endless",
    [
        b"-----BEGIN RSA PRIVATE KEY-----\n" + (LINE.encode() + b"\n") * 5_000,
        b"-----BEGIN RSA PRIVATE KEY-----\n" + LINE.encode() * 5_000,
        b"sk-" + b"a1" * 150_000,
        b"https://user:" + b"p" * 300_000,
        b"eyJ" + b"a" * 300_000,
        b"eyJ" + b"a" * 4000 + b"." + b"b" * 300_000,
        b"Authorization: Bearer " + b"a" * 300_000,
        b"-----BEGIN " + b"A" * 300_000,
    ],
)
def test_no_more_than_the_bound_is_kept_back(endless: bytes) -> None:
    """A live view would stand still, and the memory fill, while something goes on that never ends."""
    stream = Redactor({}).stream()
    taken = given_out = most = 0
    dropped = b"BEGIN RSA" in endless or endless.startswith((b"sk-", b"Auth"))
    for start_at in range(0, len(endless), 1000):
        taken += len(endless[start_at : start_at + 1000])
        given_out += len(stream.feed(endless[start_at : start_at + 1000]))
        most = max(most, taken - given_out)
    assert most <= MOST_BEGUN or (dropped and given_out < 100)
    assert len(stream.flush()) <= MOST_BEGUN
    assert MOST_BEGUN < 10_000


ADVERSARIES = [
    b"sk- ", b"sk-", b"eyJ", b" eyJaaaaaaaaaaaaaaaaaaaaa.", b"eyJ" + b"a" * 4000 + b" ", b"a://", b"a://a:",
    b"eyJ" + b"a" * 4000 + b"." + b"b" * 4000 + b" ", b"a://b:" + b"c" * 250 + b" ", b"a://" + b"b:@" * 80, b" A",
    b" AKIA" + b"B" * 15, b"-----BEGIN ", b"-----BEGIN RSA PRIVATE KEY-----", b" a://u:p@h",
    b"-----BEGIN RSA PRIVATE KEY-----\n" + b"\n" * 500, b"-----BEGIN RSA PRIVATE KEY-----\n" + b"a" * 16 + b"\n",
    b"Authorization: Bearer ", b"Authorization: ", b"bearer ", b"xoxb- ", b"gh ", b"ghp_aaaaaaaaaa ", b"\\",
    b"secret access key " + b"a" * 39 + b" ", b":\\/\\/", b"1:", b"-a\n", b"\n", b"a" * 15 + b"\n", b"[redacted:",
]  # fmt: skip


@pytest.mark.parametrize("inside", [b"", b"-----BEGIN RSA PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAA\n"])
@pytest.mark.parametrize("unit", ADVERSARIES)
def test_no_text_takes_long(unit: bytes, inside: bytes) -> None:
    """A harness that prints the wrong thing would stop the engine."""
    data = inside + (unit * (1_000_000 // len(unit) + 1))[:1_000_000]
    began = time.process_time()
    Redactor({"FAKE_KEY": PLAIN}).clean_bytes(data)
    assert time.process_time() - began < 3  # a square of 1 MB would be minutes


def test_a_megabyte_takes_milliseconds() -> None:
    """All output passes here: a slow search would be the speed of every run."""
    line = b"2026-11-30T12:00:00Z INFO [worker-3] GET https://api.example.com/v1/items?page=2 took 41 ms\n"
    for data in (b"a" * 8_000_000, line * 80_000):
        stream = Redactor({}).stream()
        began = time.process_time()
        for at in range(0, len(data), 65536):
            stream.feed(data[at : at + 65536])
        assert len(data) / (time.process_time() - began) > 20e6  # ten times less than it should be


def test_no_credential_of_a_harness_is_anywhere_in_the_store(tmp_path: Path) -> None:
    """A credential that only the harness knew would be in output, answer, files and their names."""
    store = Store.open(tmp_path / "store", create=True)
    make_task(tmp_path / "tasks", "one")
    printed = "".join(f"{before}{credential}{behind}\n" for _, before, credential, behind in CREDENTIALS)
    folder = tmp_path / "harnesses"
    folder.mkdir()
    (folder / "printed.txt").write_text(printed, encoding="utf-8")
    script = (
        f"cat '{folder}/printed.txt'; cat '{folder}/printed.txt' >&2; cp '{folder}/printed.txt' done;"
        f"head -c 20 '{folder}/printed.txt'; sleep 0.2; tail -c +21 '{folder}/printed.txt';"
        "touch $(head -n 1 done)"
    )
    harness = make_harness(folder, "leaky", script)
    request = RunRequest(dataset=str(tmp_path / "tasks"), harnesses=[harness])
    result = start(store, make_plan(store, request), Quiet())
    assert result.outcomes == {"completed": 1}
    stored = _everything(store)
    secrets = {credential for _, _, credential, _ in CREDENTIALS} - {"bcd", "abcdefgh"}
    secrets = {
        line for secret in secrets for line in secret.split("\n") if len(line) > 5 and "-----" not in line
    }
    assert len(secrets) > 25
    assert [secret for secret in secrets if secret.encode() in stored] == []
    notes = {note["code"]: note for _, note in events(store, result.run, "note.recorded")}
    found = notes["credentials_redacted"]["details"]
    assert set(found["stderr"]) == {kind for kind, *_ in CREDENTIALS}
    assert found["stdout"]["private-key"] == 2 * found["stderr"]["private-key"]


def _everything(store: Store) -> bytes:
    """All bytes of all files of a store, unpacked."""
    import zstandard

    found = b""
    for path in store.path.rglob("*"):
        found += path.name.encode()
        if path.is_file():
            data = path.read_bytes()
            packed = path.suffix == ".zst"
            found += (
                zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
                if packed
                else data
            )
    return found

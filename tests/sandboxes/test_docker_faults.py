"""What goes wrong around a container: each fault is told for what it is, and nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from hemra.sandboxes import docker_network
from hemra.sandboxes.base import Endpoint, SandboxError
from hemra.sandboxes.docker import DockerSandbox
from hemra.sandboxes.docker_image import forget_images
from hemra.sandboxes.docker_reclaim import reclaim
from tests.sandboxes.docker_trials import (
    RUN,
    STORE,
    Ran,
    attempt,
    left,
    python,
    run_in,
    sandbox,
    shell,
    tried,
)
from tools.engine.engine import Engine

pytestmark = pytest.mark.usefixtures("docker_engine")


@contextlib.asynccontextmanager
async def napping(root: Path, **options: Any) -> AsyncIterator[tuple[DockerSandbox, asyncio.Future[Ran]]]:
    """A sandbox whose program sleeps; what it leaves behind is destroyed at the end."""
    box = sandbox(root, **options)
    await box.create()
    ran = Ran()
    work = asyncio.ensure_future(run_in(box, shell("echo on; exec sleep 600"), ran))
    try:
        await ran.started.wait()
        yield box, work
    finally:
        await box.stop()
        await asyncio.gather(work, return_exceptions=True)
        await box.destroy()


_CLIENTS: list[docker.APIClient] = []


@pytest.fixture(autouse=True)
def clients_closed() -> Iterator[None]:
    """Close what `_client` gave."""
    yield
    while _CLIENTS:
        _CLIENTS.pop().close()


def _client() -> docker.APIClient:
    _CLIENTS.append(docker.APIClient(base_url=os.environ["DOCKER_HOST"], version="1.41", timeout=30))
    return _CLIENTS[-1]


def _remove_by_hand(box: DockerSandbox) -> None:
    _client().remove_container(box.details["container"], force=True)


def _kill_by_hand(box: DockerSandbox) -> None:
    _client().kill(box.details["container"])


@pytest.mark.parametrize(("fault", "words"), [(_remove_by_hand, "removed"), (_kill_by_hand, "exit code 137")])
def test_a_container_taken_away_is_a_lost_sandbox(
    tmp_path: Path, fault: Callable[[DockerSandbox], None], words: str
) -> None:
    """Broken: a container that somebody removed or killed looks like a program that ended."""

    async def run() -> SandboxError:
        async with napping(tmp_path) as (box, work), napping(tmp_path, trial="0002") as (_, other):
            await asyncio.to_thread(fault, box)
            with pytest.raises(SandboxError) as lost:
                await asyncio.wait_for(work, 20)
            assert not other.done(), "the other trial was lost with it"
            return lost.value

    error = asyncio.run(run())
    assert words in str(error)
    assert error.evidence["container"]
    assert {each["action"] for each in error.evidence["events"]} >= {"kill", "die"}
    assert left() == []


def test_a_daemon_that_dies_is_a_lost_sandbox_and_the_next_trial_goes_on(
    tmp_path: Path, docker_engine: Engine
) -> None:
    """Broken: a killed daemon makes trials hang, or leaves containers, or no later trial runs."""

    async def run() -> SandboxError:
        async with napping(tmp_path, network="full") as (_, work):
            await asyncio.to_thread(docker_engine.kill)
            with pytest.raises(SandboxError) as lost:
                await asyncio.wait_for(work, 20)
            restart = asyncio.ensure_future(asyncio.to_thread(docker_engine.restart))
        await restart
        return lost.value

    error = asyncio.run(run())
    assert "no container engine answers" in str(error)
    assert error.evidence["engine"] == docker_engine.url
    assert left() == []
    assert attempt(tmp_path, ["true"]).result.exit_code == 0


def test_no_engine_is_one_line_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken: a missing engine is a stack trace, or counts as the harness's fault."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    with pytest.raises(SandboxError, match=r"no container engine answers at unix://.*DOCKER_HOST") as error:
        asyncio.run(tried(tmp_path, ["true"]))
    assert error.value.infra
    why = DockerSandbox.traits.why_not("image")
    assert why is not None
    assert "DOCKER_HOST" in why
    assert not list(tmp_path.rglob("workspace"))


@pytest.mark.parametrize("where", ["ssh://user@host", "https://host:2376"])
def test_an_engine_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Broken: a trial is sent to an engine that cannot see its folders."""
    monkeypatch.setenv("DOCKER_HOST", where)
    assert "on this machine" in (DockerSandbox.traits.why_not(None) or "")


def test_an_engine_that_sees_other_folders_is_told(tmp_path: Path) -> None:
    """Broken: an engine without this machine's folders runs a trial in empty ones."""

    async def run() -> None:
        box = sandbox(tmp_path)
        box.workspace = tmp_path / "unseen"
        box._folders._inside[0] = (tmp_path / "unseen", "/workspace")
        try:
            await box.create()
        finally:
            await box.destroy()

    with pytest.raises(SandboxError, match="unseen"):
        asyncio.run(run())
    assert left() == []


def test_an_image_that_is_not_there(tmp_path: Path) -> None:
    """Broken: a missing image is no fault of our side, or the line does not say what to do."""
    with pytest.raises(
        SandboxError, match=r"none\.invalid/image:1 cannot be pulled: .*--sandbox docker:IMAGE"
    ) as error:
        asyncio.run(tried(tmp_path, ["true"], option="none.invalid/image:1"))
    assert error.value.infra
    assert "\n" not in str(error.value)
    assert left() == []


@pytest.mark.needs("busybox")
def test_a_run_keeps_the_image_that_it_began_with(tmp_path: Path, docker_engine: Engine) -> None:
    """Broken: a tag that is moved in mid-run gives the later trials another image."""
    shells = {"bin/sh": "busybox"}
    docker_engine.import_folder({"bin/busybox": Path("/bin/busybox")}, shells, "moving:1")
    first = attempt(tmp_path, ["/bin/busybox", "ls", "/"], option="moving:1").stdout
    docker_engine.import_folder(
        {"bin/busybox": Path("/bin/busybox"), "another": Path("/bin/busybox")}, shells, "moving:1"
    )
    assert attempt(tmp_path, ["/bin/busybox", "ls", "/"], option="moving:1").stdout == first
    forget_images()
    assert b"another" in attempt(tmp_path, ["/bin/busybox", "ls", "/"], option="moving:1").stdout


def test_the_image_is_recorded_by_digest(tmp_path: Path) -> None:
    """Broken: nobody can tell later which image a trial ran in."""

    async def run() -> dict[str, Any]:
        box = sandbox(tmp_path)
        await box.create()
        await box.destroy()
        return box.details

    details = asyncio.run(run())
    assert details["image"] == "hemra-test:latest"
    assert details["image_id"].startswith("sha256:")
    assert details["user"] != "0:0"
    assert details["engine"]


def test_a_tasks_dockerfile_is_built_once(tmp_path: Path) -> None:
    """Broken: a task's own image is not built, is built for every trial, or holds the task's verifier."""
    task = tmp_path / "task"
    (task / "environment").mkdir(parents=True)
    (task / "verifier.py").write_text("secret", encoding="utf-8")
    (task / "environment" / "given.txt").write_text("given", encoding="utf-8")
    (task / "environment" / "Dockerfile").write_text(
        "FROM hemra-test:latest\nCOPY . /given\nENV OF_TASK=1\n", encoding="utf-8"
    )

    async def run(trial: str) -> tuple[bytes, dict[str, Any]]:
        box = sandbox(tmp_path, trial=trial, task=task)
        await box.create()
        try:
            return (await run_in(box, shell("ls /given; echo $OF_TASK"))).stdout, box.details
        finally:
            await box.destroy()

    try:
        said, details = asyncio.run(run("0001"))
        assert said == b"Dockerfile\ngiven.txt\n1\n"
        assert asyncio.run(run("0002"))[1]["image_id"] == details["image_id"]
        (task / "environment" / "Dockerfile").write_text(
            "FROM hemra-test:latest\nRUN echo because && false\n", encoding="utf-8"
        )
        with pytest.raises(SandboxError, match=r"task task .* cannot be built: .*because") as error:
            asyncio.run(run("0003"))
        assert error.value.infra
    finally:
        client = _client()
        for image in client.images(filters={"label": f"hemra.store={STORE}"}, quiet=True):
            client.remove_image(image, force=True)
    assert left() == []


def test_trials_wait_for_an_address_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken: a trial fails because others hold all networks that the engine can make."""
    client = _client()
    taken: list[str] = []

    async def run() -> None:
        async with napping(tmp_path, network="full") as (first, _):
            with contextlib.suppress(docker.errors.APIError):
                for number in range(5000):
                    taken.append(client.create_network(f"taken-{number}")["Id"])
            second = sandbox(tmp_path, trial="0002", network="full")
            making = asyncio.ensure_future(second.create())
            await asyncio.sleep(1.2)
            assert not making.done()
            await first.stop()
            await first.destroy()
            await asyncio.wait_for(making, 20)
            await second.destroy()
        monkeypatch.setattr(docker_network, "ALONE_SECONDS", 0.5)
        client.create_network("taken-last", labels={})
        third = sandbox(tmp_path, trial="0003", network="full")
        try:
            with pytest.raises(SandboxError, match="docker network prune") as error:
                await third.create()
            assert error.value.infra
        finally:
            await third.destroy()

    try:
        asyncio.run(run())
    finally:
        for network in [*taken, "taken-last"]:
            with contextlib.suppress(docker.errors.APIError):
                client.remove_network(network)
    assert left() == []


_ABANDON = """
import asyncio, os, sys
from pathlib import Path
from tests.sandboxes.docker_trials import sandbox, run_in, shell, Ran

async def main():
    box = sandbox(Path(sys.argv[1]), network="full")
    await box.create()
    ran = Ran()
    work = asyncio.ensure_future(run_in(box, shell("trap '' TERM; while :; do sleep 1; done"), ran))
    await ran.started.wait()
    print(box.details["container"], flush=True)
    if sys.argv[2] == "kill_now":
        box.kill_now()
        os._exit(0)
    await work

asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["kill_now", "SIGKILL"])
def test_what_a_dead_engine_left_is_reclaimed(tmp_path: Path, how: str) -> None:
    """Broken: containers and networks of a run that died stay for ever, or its harness goes on and on."""
    child = subprocess.Popen([sys.executable, "-c", _ABANDON, str(tmp_path), how], stdout=subprocess.PIPE)
    with child:
        assert child.stdout is not None
        container = child.stdout.readline().decode().strip()
        client = _client()
        if how == "SIGKILL":
            assert reclaim(STORE) == [], "something of a trial whose process lives was removed"
            assert client.inspect_container(container)["State"]["Running"]
            child.kill()
    ended = time.monotonic() + 15
    with contextlib.suppress(docker.errors.NotFound):
        while client.inspect_container(container)["State"]["Running"]:
            assert time.monotonic() < ended, "it goes on after its engine died"
            time.sleep(0.05)
    assert reclaim("another-store") == []
    assert reclaim(STORE, "another-run") == []
    lines = reclaim(STORE)
    assert all("trial 0001.1" in line for line in lines)
    assert any(line.startswith("network") for line in lines)
    assert left() == []


def _serve(reply: bytes) -> tuple[socket.socket, asyncio.Future[None]]:
    listening = socket.create_server(("127.0.0.1", 0))

    async def serve() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            got = await reader.read()
            writer.write(reply + got)
            writer.close()

        async with await asyncio.start_server(answer, sock=listening) as server:
            await server.serve_forever()

    return listening, asyncio.ensure_future(serve())


@pytest.mark.parametrize("network", ["gateway", "full"])
@pytest.mark.parametrize("forwarder", ["python3", "perl"])
def test_given_endpoints_are_reached_and_others_are_not(
    tmp_path: Path, docker_engine: Engine, network: str, forwarder: str
) -> None:
    """Broken: the gateway cannot be reached from a container, or another service of this machine can."""
    image = docker_engine.image
    if forwarder == "perl":
        image = docker_engine.perl_image()
    code = (
        "import socket\n"
        "def ask(port, size):\n"
        "    with socket.create_connection(('127.0.0.1', port), 5) as s:\n"
        "        s.sendall(b'x' * size); s.shutdown(1); return sum(iter(lambda: len(s.recv(65536)), 0))\n"
        "print(ask({0}, 1), ask({0}, 300_000), ask({1}, 5))\n"
        "try: ask({2}, 1)\n"
        "except ConnectionRefusedError: print('refused')\n"
    )

    async def run() -> Ran:
        (first, one), (second, two), (other, three) = _serve(b"one"), _serve(b"second"), _serve(b"other")
        ports = [each.getsockname()[1] for each in (first, second, other)]
        reach = tuple(Endpoint("127.0.0.1", port) for port in ports[:2])
        box = sandbox(tmp_path, network=network, reach=reach, option=image)
        try:
            await box.create()
            inner = [box.address(endpoint).port for endpoint in reach]
            words = (
                python(code.format(*inner, ports[2]))
                if forwarder == "python3"
                else ["perl", "-e", _PERL, *map(str, [*inner, ports[2]])]
            )
            return await run_in(box, words, wall_seconds=30)
        finally:
            await box.destroy()
            for task in (one, two, three):
                task.cancel()
            await asyncio.gather(one, two, three, return_exceptions=True)

    ran = asyncio.run(run())
    assert ran.stdout == b"4 300003 11\nrefused\n", ran.stderr
    assert ran.result.leftover_processes == 0
    assert left() == []


_PERL = r"""
use IO::Socket::INET;
sub ask {
    my ($port, $size) = @_;
    my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or return "refused";
    print $s 'x' x $size; $s->flush; shutdown $s, 1;
    my $all = 0;
    while (my $n = sysread $s, my $piece, 65536) { $all += $n }
    return $all;
}
print join(' ', ask($ARGV[0], 1), ask($ARGV[0], 300000), ask($ARGV[1], 5)), "\n", ask($ARGV[2], 1), "\n";
"""


@pytest.mark.needs("busybox")
def test_a_gateway_needs_something_to_forward(tmp_path: Path, docker_engine: Engine) -> None:
    """Broken: an image that cannot forward gives a harness that reaches no model, without a word."""
    docker_engine.import_folder({"bin/busybox": Path("/bin/busybox")}, {"bin/sh": "busybox"}, "small:1")

    async def run() -> str:
        box = sandbox(tmp_path, network="gateway", reach=(Endpoint("127.0.0.1", 4000),), option="small:1")
        await box.create()
        try:
            return (await run_in(box, ["/bin/busybox", "true"])).result.error or ""
        finally:
            await box.destroy()

    assert "neither python3 nor perl" in asyncio.run(run())


def test_no_network_means_none(tmp_path: Path) -> None:
    """Broken: a trial without network has an interface, or reaches this machine's loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        code = (
            "import os, socket\nprint(os.listdir('/sys/class/net'))\n"
            f"try: socket.create_connection(('127.0.0.1', {port}), 2)\nexcept OSError as e: print(e.strerror)"
        )
        ran = attempt(tmp_path, python(code))
    assert ran.stdout == b"['lo']\nConnection refused\n"


def test_trials_with_a_network_do_not_see_each_other(tmp_path: Path) -> None:
    """Broken: one trial connects to a service of another."""

    async def run() -> bytes:
        first, second = sandbox(tmp_path, network="full"), sandbox(tmp_path, trial="0002", network="full")
        try:
            await first.create()
            await second.create()
            serving = Ran()
            code = (
                "import socket, sys; s = socket.create_server(('', 8000)); print(1, flush=True); s.accept()"
            )
            work = asyncio.ensure_future(run_in(first, python(code), serving))
            await serving.started.wait()
            networks = _client().inspect_container(first.details["container"])["NetworkSettings"]["Networks"]
            address = next(iter(networks.values()))["IPAddress"]
            code = f"import socket\ntry: socket.create_connection(('{address}', 8000), 2)\nexcept OSError: print('no')"
            said = (await run_in(second, python(code))).stdout
            await first.stop()
            await work
            return said
        finally:
            await first.destroy()
            await second.destroy()

    assert asyncio.run(run()) == b"no\n"
    assert left() == []


def test_labels_on_all_that_is_made(tmp_path: Path) -> None:
    """Broken: what a trial makes in the engine cannot be found again."""

    async def run() -> list[dict[str, str]]:
        async with napping(tmp_path, network="full"):
            client = _client()
            wanted = {"label": [f"hemra.store={STORE}", f"hemra.run={RUN}", "hemra.trial=0001.1"]}
            return [*client.containers(filters=wanted), *client.networks(filters=wanted)]

    assert len(asyncio.run(run())) == 2


def test_images_of_the_engine_are_left_alone(tmp_path: Path) -> None:
    """Broken: destroying a sandbox removes more than it made."""
    before = sorted(_client().images(quiet=True))
    attempt(tmp_path, ["true"])
    assert sorted(_client().images(quiet=True)) == before

"""No network but what the trial was given."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

from tests.sandboxes.escape.prison import Prison, Service

CONNECT = """
for family, place in {places!r}:
    with quiet():
        s = socket.socket(family); s.settimeout(2); s.connect(tuple(place) if isinstance(place, list) else place)
        found((place, s.recv(100)))
"""


def connect(prison: Prison, places: list[object], **options: object) -> list[str]:
    """What connecting to places (family, address) from inside gave."""
    return prison.attempt(CONNECT.format(places=places), **options).lines


def own_addresses() -> list[str]:
    """This machine's addresses in its networks."""
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return []
        return [probe.getsockname()[0]]


def test_loopback_services_of_the_machine_cannot_be_reached(prison: Prison) -> None:
    """Databases and admin pages trust whoever comes from the same machine."""
    with Service(b"hello") as service:
        port = service.endpoint.port
        places = [(int(socket.AF_INET), [host, port]) for host in ("127.0.0.1", "127.0.0.2", "0.0.0.0")]
        assert connect(prison, [*places, (int(socket.AF_INET6), ["::1", port])]) == []
        assert service.connections == 0


def test_the_machine_cannot_be_reached_by_its_other_addresses(prison: Prison) -> None:
    """What is closed on loopback must not be open by the address in the local network."""
    for address in own_addresses():
        with Service(b"hello", address) as service:
            assert connect(prison, [(int(socket.AF_INET), [address, service.endpoint.port])]) == []
            assert service.connections == 0


def test_the_internet_and_the_clouds_metadata_cannot_be_reached(prison: Prison) -> None:
    """A harness could fetch the answers, send the task away, or ask the cloud for the machine's keys."""
    code = """
for address in ("1.1.1.1", "8.8.8.8", "169.254.169.254", "192.0.2.1"):
    s = socket.socket(); s.settimeout(2)
    try:
        s.connect((address, 80)); found("connected")
    except OSError as error:
        if error.errno not in (errno.ENETUNREACH, errno.EHOSTUNREACH): found((address, error))
    with quiet():
        u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.sendto(b"x", (address, 53)); found(("sent", address))
with quiet(): found(socket.getaddrinfo("example.com", 80))
for name in os.listdir("/sys/class/net") if os.path.isdir("/sys/class/net") else []:
    if name != "lo" and open(f"/sys/class/net/{name}/operstate").read().strip() == "up": found(name)
"""
    assert prison.attempt(code).lines == []


def test_sockets_of_the_user_cannot_be_reached(prison: Prison, tmp_path: Path) -> None:
    """Whoever may speak to a container engine, an ssh agent or the session's bus is the user."""
    name = f"/tmp/hemra-test-agent-{os.getpid()}"
    abstract = f"hemra-test-{os.getpid()}"
    places: list[object] = [
        (int(socket.AF_UNIX), path)
        for path in (
            name,
            "\0" + abstract,
            "/var/run/docker.sock",
            "/run/docker.sock",
            "/run/dbus/system_bus_socket",
        )
    ]
    with socket.socket(socket.AF_UNIX) as by_name, socket.socket(socket.AF_UNIX) as hidden:
        by_name.bind(name)
        hidden.bind("\0" + abstract)
        try:
            for listener in (by_name, hidden):
                listener.listen()
                listener.setblocking(False)
            code = """
for family, place in {places!r}:
    with quiet():
        s = socket.socket(family); s.settimeout(2); s.connect(place); found(place)
"""
            assert prison.attempt(code.format(places=places)).lines == []
        finally:
            os.unlink(name)


def test_a_container_cannot_be_started(prison: Prison) -> None:
    """A container started by a trial is outside everything that holds the trial."""
    code = """
for command in (["docker", "run", "-d", "debian", "sleep", "600"], ["podman", "run", "-d", "debian", "sleep", "600"]):
    with quiet():
        if subprocess.run(command, capture_output=True, timeout=10).returncode == 0: found(command)
"""
    assert prison.attempt(code).lines == []


def test_what_was_given_can_be_reached_and_nothing_else(prison: Prison) -> None:
    """With the network closed but for the gateway, the gateway must be there, streams and halves of them too."""

    async def go() -> None:
        with (
            Service(
                b"given",
            ) as given,
            Service(b"web") as web,
            Service(b"closed") as other,
        ):
            options = {"network": "gateway", "reach": (given.endpoint, web.endpoint)}
            async with prison.trial(**options) as sandbox:
                for service, answer in ((given, b"given"), (web, b"web")):
                    there = sandbox.address(service.endpoint)
                    out = await prison.run(
                        sandbox, CONNECT.format(places=[(int(socket.AF_INET), [there.host, there.port])])
                    )
                    assert out.lines == [str(([there.host, there.port], answer))]
                for port in (other.endpoint.port, 22, 80):
                    code = CONNECT.format(places=[(int(socket.AF_INET), ["127.0.0.1", port])])
                    assert (await prison.run(sandbox, code)).lines == []
            assert other.connections == 0
            assert (given.connections, web.connections) == (1, 1)

    asyncio.run(go())


def test_much_can_go_both_ways_at_once(prison: Prison) -> None:
    """Model answers stream for minutes while the request is still being sent: nothing may be lost or stuck."""
    size = 8 << 20

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
        writer.close()

    code = """
import hashlib, threading
s = socket.create_connection(({host!r}, {port})); data = os.urandom(1 << 20)
def send():
    for _ in range({size} >> 20): s.sendall(data)
    s.shutdown(socket.SHUT_WR)
t = threading.Thread(target=send); t.start()
got, count = hashlib.sha256(), 0
while chunk := s.recv(1 << 16): got.update(chunk); count += len(chunk)
t.join(); found((count, got.hexdigest() == hashlib.sha256(data * ({size} >> 20)).hexdigest()))
"""

    async def go() -> list[str]:
        from hemra.sandboxes.base import Endpoint

        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            endpoint = Endpoint("127.0.0.1", server.sockets[0].getsockname()[1])
            async with prison.trial(network="gateway", reach=(endpoint,)) as sandbox:
                there = sandbox.address(endpoint)
                text = code.format(host=there.host, port=there.port, size=size)
                return (await prison.run(sandbox, text)).lines

    assert asyncio.run(go()) == [str((size, True))]

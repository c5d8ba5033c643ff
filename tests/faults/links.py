"""Two hosts on this machine, as network namespaces, and a link between them that can be cut, slowed and made to lose.

`VethLink` is the kernel's own pair of interfaces. `LossyLink` is a pair of tun devices whose packets pass through
a thread here: it delays, drops, and limits the rate on every kernel that has tun, also without netem.
"""

from __future__ import annotations

import contextlib
import fcntl
import heapq
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


def run(*command: str) -> None:
    """Run a program; its complaint is the test's."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"


def _need_namespaces() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root for network namespaces")
    if shutil.which("ip") is None:
        pytest.skip("needs ip, which is not installed")
    name = f"hemra-probe-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        pytest.skip("needs network namespaces, which this system does not allow")
    run("ip", "netns", "del", name)


class Hosts:
    """Two namespaces; `here` and `there` are the prefixes of commands that run in them."""

    def __init__(self, tag: str) -> None:
        self.names = [f"hemra-{tag}-{os.getpid()}-{side}" for side in "ab"]
        for name in self.names:
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        self.there, self.here = (["ip", "netns", "exec", name] for name in self.names)

    def remove(self) -> None:
        """Both namespaces, and with them what is in them."""
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


class VethLink:
    """A virtual cable between two hosts. `address` is where the host `there` is."""

    address = "10.213.7.1"

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        ends = [f"hv{os.getpid() % 100000}{side}" for side in "ab"]
        run("ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        self._ends = ends
        for name, end, number in zip(hosts.names, ends, (1, 2), strict=True):
            run("ip", "link", "set", end, "netns", name)
            run("ip", "-n", name, "addr", "add", f"10.213.7.{number}/24", "dev", end)
            run("ip", "-n", name, "link", "set", end, "up")

    def cut(self) -> None:
        """Pull the cable."""
        run("ip", "-n", self._hosts.names[0], "link", "set", self._ends[0], "down")

    def restore(self) -> None:
        """Put it back."""
        run("ip", "-n", self._hosts.names[0], "link", "set", self._ends[0], "up")

    def netem(self, *how: str) -> None:
        """Have the kernel spoil both directions. Skips where it cannot."""
        for name, end in zip(self._hosts.names, self._ends, strict=True):
            command = ["tc", "-n", name, "qdisc", "add", "dev", end, "root", "netem", *how]
            if (
                shutil.which("tc") is None
                or subprocess.run(command, capture_output=True, check=False).returncode
            ):
                pytest.skip("needs the kernel's netem (tc qdisc … netem)")

    def close(self) -> None:
        """Nothing is left once the hosts are removed."""


class LossyLink:
    """A cable whose packets pass through a thread. Delay in seconds, loss as a share, rate in bytes a second."""

    address = "10.213.8.1"

    def __init__(self, hosts: Hosts, *, delay_s: float = 0.0, loss: float = 0.0, rate: float = 50e6) -> None:
        self.delay_s, self.loss, self.rate = delay_s, loss, rate
        self._cut = threading.Event()
        self._stop = threading.Event()
        self._fds: list[int] = []
        self.lost = 0
        for name, side, number in zip(hosts.names, "ab", (1, 2), strict=True):
            end = f"ht{os.getpid() % 100000}{side}"
            fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
            fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH", end.encode(), _IFF_TUN | _IFF_NO_PI))
            self._fds.append(fd)
            run("ip", "link", "set", end, "netns", name)
            run(
                "ip",
                "-n",
                name,
                "addr",
                "add",
                f"10.213.8.{number}",
                "peer",
                f"10.213.8.{3 - number}",
                "dev",
                end,
            )
            run("ip", "-n", name, "link", "set", end, "up")
        self._thread = threading.Thread(target=self._carry, name="lossy link")
        self._thread.start()

    def cut(self) -> None:
        """Nothing passes from now on, and nobody is told."""
        self._cut.set()

    def restore(self) -> None:
        """Packets pass again."""
        self._cut.clear()

    def _carry(self) -> None:
        chance = random.Random(7)
        waiting: list[tuple[float, int, int, bytes]] = []
        free, count = [0.0, 0.0], 0
        while not self._stop.is_set():
            wait = max(0.0, min(0.05, waiting[0][0] - time.monotonic())) if waiting else 0.05
            ready, _, _ = select.select(self._fds, [], [], wait)
            now = time.monotonic()
            for fd in ready:
                packet = os.read(fd, 65536)
                side = self._fds.index(fd)
                if self._cut.is_set() or chance.random() < self.loss:
                    self.lost += 1
                    continue
                free[side] = max(now, free[side]) + len(packet) / self.rate
                count += 1
                heapq.heappush(waiting, (free[side] + self.delay_s, count, self._fds[1 - side], packet))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, out, packet = heapq.heappop(waiting)
                with contextlib.suppress(OSError):  # a full queue loses packets, as queues do
                    if not self._cut.is_set():
                        os.write(out, packet)

    def close(self) -> None:
        """Stop carrying."""
        self._stop.set()
        self._thread.join()
        for fd in self._fds:
            os.close(fd)


@contextlib.contextmanager
def two_hosts(tag: str) -> Iterator[Hosts]:
    """Two hosts for the time of a test; skips by name where there cannot be any."""
    _need_namespaces()
    hosts = Hosts(tag)
    try:
        yield hosts
    finally:
        hosts.remove()


@contextlib.contextmanager
def veth(hosts: Hosts) -> Iterator[VethLink]:
    """The kernel's cable. Skips where it has none."""
    if subprocess.run(
        ["ip", "link", "add", "hvprobe", "type", "veth"], capture_output=True, check=False
    ).returncode:
        pytest.skip("needs the kernel's veth interfaces")
    run("ip", "link", "del", "hvprobe")
    yield VethLink(hosts)


@contextlib.contextmanager
def lossy(
    hosts: Hosts, *, delay_s: float = 0.0, loss: float = 0.0, rate: float = 50e6
) -> Iterator[LossyLink]:
    """The cable of our own. Skips where there is no tun."""
    if not Path("/dev/net/tun").exists():
        pytest.skip("needs /dev/net/tun")
    link = LossyLink(hosts, delay_s=delay_s, loss=loss, rate=rate)
    try:
        yield link
    finally:
        link.close()

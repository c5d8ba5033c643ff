"""A child process whose end the loop tells without a thread that waits for it, where the kernel can do that."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess


class Child:
    """A process that was started; to be made in a running loop. `wait` for it before the loop ends."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid
        loop = asyncio.get_running_loop()
        self._over: asyncio.Future[int] = loop.create_future()
        try:
            handle = os.pidfd_open(process.pid)
        except (AttributeError, OSError):  # not Linux, Linux before 5.3, or whoever enclosed us forbids it
            self._over = asyncio.ensure_future(asyncio.to_thread(process.wait))
        else:
            loop.add_reader(handle, self._ended, handle)

    def _ended(self, handle: int) -> None:
        asyncio.get_running_loop().remove_reader(handle)
        os.close(handle)
        self._over.set_result(self._process.wait())

    @property
    def over(self) -> bool:
        """Whether it is known to have ended."""
        return self._over.done()

    async def wait(self) -> int:
        """Until it has ended: its exit code, or -signal."""
        return await asyncio.shield(self._over)

    def send(self, number: int) -> None:
        """Send it a signal; nothing happens when it has ended. Safe in a signal handler."""
        if not self.over:
            with contextlib.suppress(OSError):
                os.kill(self.pid, number)

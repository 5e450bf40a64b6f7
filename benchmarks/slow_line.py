"""A line between a site and the centre, with the latency and the bandwidth of a wide-area network.

    python benchmarks/slow_line.py CENTRE_PORT LATENCY_S BYTES_PER_S

Prints the port at which it listens, and passes every connection on to the centre's port. Each way
takes the latency; both ways have the bandwidth at the same time. All connections share the line.
"""

import asyncio
import contextlib
import sys
from dataclasses import dataclass

CHUNK = 2**16


@dataclass
class Way:
    """One direction of the line."""

    latency_s: float
    bytes_per_s: float
    free_at: float = 0.0

    async def carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        """Deliver what arrives, in order and not before the line would."""
        clock = asyncio.get_running_loop()
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        delivery = asyncio.create_task(deliver(under_way, target))
        data = b"start"
        while data:
            data = await source.read(CHUNK)
            self.free_at = max(self.free_at, clock.time()) + len(data) / self.bytes_per_s
            under_way.put_nowait((self.free_at + self.latency_s, data))
        await delivery


async def deliver(
    under_way: "asyncio.Queue[tuple[float, bytes]]", target: asyncio.StreamWriter
) -> None:
    """Write each part when it is due; nothing means the end."""
    clock = asyncio.get_running_loop()
    while True:
        due, data = await under_way.get()
        await asyncio.sleep(max(0.0, due - clock.time()))
        if not data:
            target.close()
            return
        target.write(data)
        await target.drain()


async def serve(port: int, latency_s: float, bytes_per_s: float) -> None:
    """Pass connections on until stopped."""
    up, down = Way(latency_s, bytes_per_s), Way(latency_s, bytes_per_s)

    async def connect(site: asyncio.StreamReader, to_site: asyncio.StreamWriter) -> None:
        # A connection that either end breaks off is over.
        with contextlib.suppress(OSError):
            centre, to_centre = await asyncio.open_connection("localhost", port)
            await asyncio.gather(up.carry(site, to_centre), down.carry(centre, to_site))

    server = await asyncio.start_server(connect, "localhost", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])))

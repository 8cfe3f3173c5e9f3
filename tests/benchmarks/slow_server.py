"""A provider that takes 200 ms: answers every POST with the reply it read from standard input. Prints its port.

The models endpoint knows every model, as a provider's own does.
"""

import asyncio
import sys

WAIT_S = 0.2
MODEL = b'{"type": "model", "id": "m", "display_name": "M", "created_at": "2026-01-01T00:00:00Z"}'


def whole(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            _, has_body, rest = head.partition(b"content-length:")
            if head.startswith(b"post ") and has_body:
                await reader.readexactly(int(rest.partition(b"\r\n")[0]))
                await asyncio.sleep(WAIT_S)
                writer.write(REPLY)
            else:
                writer.write(whole(MODEL))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=2**22)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    REPLY = whole(sys.stdin.buffer.read())
    asyncio.run(main())

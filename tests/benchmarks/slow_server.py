"""A provider that takes 200 ms: answers every POST with the reply it read from standard input. Prints its port.

Whatever else is asked for is not there (404).
"""

import asyncio
import sys

WAIT_S = 0.2
UNKNOWN = b"HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            _, has_body, rest = head.partition(b"content-length:")
            if head.startswith(b"post ") and has_body:
                await reader.readexactly(int(rest.partition(b"\r\n")[0]))
                await asyncio.sleep(WAIT_S)
                writer.write(REPLY)
            else:  # the models endpoint, which tells nothing here
                writer.write(UNKNOWN)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=2**22)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    body = sys.stdin.buffer.read()
    REPLY = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    asyncio.run(main())

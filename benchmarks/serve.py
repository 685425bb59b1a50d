"""Load test of the service: throughput and latency with 1, 8, 32 and 128 clients, and the gain of batching.

    python benchmarks/serve.py --model DIR [--seconds 10] [--text]

Every client sends sentences of EWT dev one after another and checks every answer. The run with 32 clients is repeated
with a service that parses one request per call. Only loopback is used; memory is read from /proc.
"""

import argparse
import asyncio
import json
import random
import signal
import statistics
import subprocess
import sys
import time
from typing import Any

import results
from hexatagger.formats.conllu import read_conllu
from hexatagger.parsing.load import load
from hexatagger.sentence import Sentence

MEASURES = ("src/hexatagger/decode", "src/hexatagger/models", "src/hexatagger/parsing", "src/hexatagger/server")
CLIENTS = (1, 8, 32, 128)
COMPARED = 32


class Server:
    """A service in a process of its own."""

    def __init__(self, model: str, *options: str) -> None:
        command = [sys.executable, "-m", "hexatagger", "serve", "--model", f"en={model}", "--port", "0", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        if "http://" not in line:
            sys.exit(line + self.process.stderr.read())
        self.address = "http://" + line.split("http://")[1].split("/")[0]

    def megabytes(self) -> float:
        """Return the memory it has now."""
        return round(results.megabytes(self.process.pid), 1)

    def stop(self) -> None:
        """Tell it to stop, and wait."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


class Client:
    """A client with a connection of its own; bare, to take little of the machine it shares with the service."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("http://").partition(":")
        self._place = host, int(port)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a request; return the status and the body of the answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._place, limit=2**24)
        reader, writer = self._streams
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        size = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        return int(head.split()[1]), await reader.readexactly(size)

    def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()


def request(method: str, path: str, question: dict[str, Any] | None = None) -> bytes:
    """Return a request as it goes over the wire."""
    body = b"" if question is None else json.dumps(question).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def wait_for(address: str) -> None:
    for _ in range(600):
        try:
            client = Client(address)
            if (await client.ask(request("GET", "/healthz")))[0] == 200:
                return client.close()
        except OSError:
            await asyncio.sleep(0.1)
    sys.exit("the service did not start")


async def drive(server: Server, clients: int, seconds: float, asked: list[tuple[bytes, list[Any]]]) -> dict[str, Any]:
    """Let so many clients ask for so long; return how it went."""
    await wait_for(server.address)
    times: list[float] = []
    wrong = errors = words = 0
    stop = time.perf_counter() + seconds

    async def one(number: int) -> None:
        nonlocal wrong, errors, words
        order, client = random.Random(number), Client(server.address)
        while time.perf_counter() < stop:
            question, expected = asked[order.randrange(len(asked))]
            began = time.perf_counter()
            status, answer = await client.ask(question)
            times.append(time.perf_counter() - began)
            if status != 200:
                errors += 1
                continue
            got = [[word["form"], word["head"], word["deprel"]] for word in json.loads(answer)["sentences"][0]["words"]]
            wrong += got != expected
            words += len(got)
        client.close()

    before, began = server.megabytes(), time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(clients)))
    elapsed = time.perf_counter() - began
    times.sort()
    return {
        "clients": clients,
        "requests": len(times),
        "requests_per_second": round(len(times) / elapsed, 1),
        "words_per_second": round(words / elapsed),
        "median_ms": round(1000 * statistics.median(times), 1),
        "p99_ms": round(1000 * times[int(0.99 * (len(times) - 1))], 1),
        "errors": errors,
        "wrong_answers": wrong,
        "megabytes_before": before,
        "megabytes_after": server.megabytes(),
    }


def questions(model: str, text: bool, most: int = 400) -> list[tuple[bytes, list[Any]]]:
    """Return requests with the answers that a parser gives to each by itself."""
    sentences = read_conllu(results.treebank("UD_English-EWT/en_ewt-ud-dev.conllu"))
    chosen = [sentence for _, sentence in zip(range(most), sentences, strict=False)]
    parser = load(model)
    made = []
    for sentence in chosen:
        if text:
            asked: dict[str, Any] = {"text": sentence.text}
            parsed = parser.parse(sentence.text)[0]
        else:
            asked = {"words": [sentence.forms]}
            [parsed] = parser.parse_sentences([Sentence.from_words(sentence.forms)])
        made.append((request("POST", "/v1/parse", asked), [[word.form, word.head, word.deprel] for word in parsed]))
    return made


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--model", default="en")
    arguments.add_argument("--seconds", type=float, default=10.0)
    arguments.add_argument("--text", action="store_true", help="send text instead of words")
    arguments.add_argument("--clients", type=int, nargs="*", default=list(CLIENTS))
    arguments.add_argument("--no-save", action="store_true")
    given = arguments.parse_args()
    asked = questions(given.model, given.text)

    server = Server(given.model)
    try:
        asyncio.run(drive(server, 8, min(2.0, given.seconds), asked))  # warm up
        rows = [asyncio.run(drive(server, clients, given.seconds, asked)) for clients in given.clients]
    finally:
        server.stop()
    single = Server(given.model, "--batch", "1", "--window", "0")
    try:
        asyncio.run(drive(single, 8, min(2.0, given.seconds), asked))
        alone = asyncio.run(drive(single, COMPARED, given.seconds, asked))
    finally:
        single.stop()

    for row in [*rows, {"one call a request": True, **alone}]:
        print(row)
    together = next((row for row in rows if row["clients"] == COMPARED), None)
    figures = {
        "seconds": given.seconds,
        "input": "text" if given.text else "words",
        "runs": rows,
        "one_call_per_request": alone,
        "batching_gain": round(together["requests_per_second"] / alone["requests_per_second"], 2) if together else None,
    }
    print("batching gain at 32 clients:", figures["batching_gain"])
    if not given.no_save:
        results.save("serve", figures, ("numpy", "onnxruntime", "fastapi", "pydantic", "uvicorn"))


if __name__ == "__main__":
    main()

"""How much of a bare HTTP client's rate judging reaches: ours, bare aiohttp, and the
openai SDK, on one server.

    python benchmarks/judge.py [--questions 2000] [--memory 20000] [--lean | --url
    http://127.0.0.1:8991/v1]

Each question shows two 640×480 PNG photographs. The server, a process of its own,
answers at once; aiohttp's takes more processor time for a request than a client does,
so that on two cores it is what is measured. With --lean the server counts bytes and no
more; with --url a running server is asked, such as nginx with a fixed reply. All three
send to it in turn with the same concurrency; bare aiohttp sends bytes that were
prepared before the clock started. "Our client" is what `open_client` returns;
"visualjudge" is the whole `judge` core: planning, images from disk, base64, parsing,
reading the answer, the journal synced to the disk. On a busy machine only the CPU of
this process can be compared.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import multiprocessing
import resource
import shutil
import socket
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path

import aiohttp
import numpy as np
from aiohttp import web
from skimage import data as photographs

from visualjudge.clients import ImageStore, Request, TextPart, open_client
from visualjudge.core.records import Question
from visualjudge.dataset.folder import Dataset
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.options import RunSettings
from visualjudge.runs.judge_dataset import run_judge
from visualjudge.vision.raster.images import write_png

IMAGES = 50
CONCURRENCY = 32
PROMPT = (
    "You are a judge to decide the quality of answers to an image deblurring "
    "task.\n\nOptions:\n\nA. <image>\n\n"
    "B. <image>\n\nWhich prediction is better? Please answer with A or B."
)
REPLY = {
    "id": "c",
    "object": "chat.completion",
    "created": 0,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "A"},
        }
    ],
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 1,
        "total_tokens": 101,
    },
}


def serve(port: int) -> None:
    """Reads the whole request and answers."""

    async def chat(request: web.Request) -> web.Response:
        await request.read()
        return web.json_response(REPLY)

    app = web.Application(client_max_size=1 << 30)
    app.router.add_post("/v1/chat/completions", chat)
    web.run_app(app, host="127.0.0.1", port=port, print=None, access_log=None)


class Counting(asyncio.BufferedProtocol):
    """A connection of the lean server: counts the bytes of each request, and answers
    when they have come.
    """

    body = json.dumps(REPLY).encode()
    answer = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
        b"%d\r\n\r\n%s" % (len(body), body)
    )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._buffer = bytearray(1 << 20)
        self._head = b""
        self._left = 0

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if not self._left:
            self._head += self._buffer[:nbytes]
            head, end, body = self._head.partition(b"\r\n\r\n")
            if not end:
                return
            self._head, nbytes = b"", len(body)
            self._left = int(
                head.lower().split(b"content-length:")[1].split(b"\r\n")[0]
            )
        self._left -= nbytes
        if not self._left:
            self._transport.write(self.answer)


def serve_lean(port: int) -> None:
    """As :func:`serve`, at a third of its processor time."""

    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(
            Counting, "127.0.0.1", port
        )
        await server.serve_forever()

    asyncio.run(main())


def images(root: Path) -> list[str]:
    """640×480 crops of a photograph, each shifted."""
    photo = np.tile(np.asarray(photographs.astronaut()), (2, 2, 1))
    names = [f"media/{k}.png" for k in range(IMAGES)]
    for k, name in enumerate(names):
        write_png(
            root / name,
            np.ascontiguousarray(photo[k : k + 480, 2 * k : 2 * k + 640]),
        )
    return names


def questions(names: list[str], count: int) -> tuple[Question, ...]:
    """Pairs of the images."""
    return tuple(
        Question(
            id=f"q{k}",
            task="lowlevel-deblur",
            encoding="pixel",
            question_type="pairwise",
            subset=("judge_analysis",),
            image_id=str(k),
            class_of_interest=None,
            error_type=None,
            annotation_ids=("a", "b"),
            final_scores=(7.0, 3.0),
            sources=(None, None),
            prompt=PROMPT,
            images=(names[k % len(names)], names[(k * 7 + 1) % len(names)]),
            answer="A",
        )
        for k in range(count)
    )


def messages(root: Path, question: Question) -> list[dict[str, object]]:
    """As anybody would write them for the SDK."""
    urls = [
        f"data:image/png;base64,{base64.b64encode((root / name).read_bytes()).decode()}"
        for name in question.images
    ]
    texts = question.prompt.split("<image>")
    content: list[dict[str, object]] = [{"type": "text", "text": texts[0]}]
    for url, text in zip(urls, texts[1:], strict=True):
        content += [
            {"type": "image_url", "image_url": {"url": url}},
            {"type": "text", "text": text},
        ]
    return [{"role": "user", "content": content}]


async def drained(count: int, send: Callable[[int], Awaitable[None]]) -> None:
    """``send(k)`` for all k, CONCURRENCY at once."""
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await send(number)

    await asyncio.gather(*(work() for _ in range(CONCURRENCY)))


async def bare(url: str, bodies: list[bytes], count: int) -> None:
    """Prepared bytes through aiohttp; replies decoded."""
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=CONCURRENCY)
    ) as session:

        async def send(number: int) -> None:
            headers = {"Content-Type": "application/json"}
            async with session.post(
                f"{url}/chat/completions",
                data=bodies[number % len(bodies)],
                headers=headers,
            ) as r:
                json.loads(await r.read())["choices"][0]["message"]["content"]

        await drained(count, send)


async def sdk(
    url: str, root: Path, asked: tuple[Question, ...], count: int
) -> None:
    """The openai SDK, called plainly; images encoded once a file, which flatters it."""
    cache = {
        question.images: messages(root, question) for question in asked[:IMAGES]
    }
    import openai

    async with openai.AsyncOpenAI(
        base_url=url, api_key="none", max_retries=0
    ) as client:

        async def send(number: int) -> None:
            prepared = cache[asked[number % IMAGES].images]
            reply = await client.chat.completions.create(
                model="m", messages=prepared
            )  # type: ignore[call-overload]
            assert reply.choices[0].message.content == "A"

        await drained(count, send)


async def client(
    url: str, root: Path, asked: tuple[Question, ...], count: int
) -> None:
    """Our client alone, with its retries and its limit: bodies from images, replies
    read."""
    store, texts = (
        ImageStore(),
        [TextPart(text) for text in PROMPT.split("<image>")],
    )
    images = [
        [store.get(root / name) for name in question.images]
        for question in asked[:IMAGES]
    ]
    client = open_client(
        {"backend": "api", "model_name": "m", "base_url": url},
        concurrency=CONCURRENCY,
    )

    async def send(number: int) -> None:
        first, second = images[number % IMAGES]
        parts = (texts[0], first, texts[1], second, texts[2])
        assert (await client.ask(Request(parts))).text == "A"

    await drained(count, send)
    await client.aclose()


async def ours(
    url: str, root: Path, asked: tuple[Question, ...], out: Path
) -> float:
    """The judge core, journal and all, without the reply cache; seconds a question
    after the first quarter.
    """
    client = open_client(
        {"backend": "api", "model_name": "m", "base_url": url},
        concurrency=CONCURRENCY,
    )
    dataset = Dataset(root, asked, {}, "-")
    judge = QuestionJudge(client, root)
    seen = dict[int, float]()
    report = await run_judge(
        dataset,
        judge,
        out,
        RunSettings(concurrency=CONCURRENCY),
        on_event=lambda progress: seen.setdefault(
            progress.done, time.perf_counter()
        ),
    )
    assert report.statuses["ok"] == len(asked), report
    first = min(done for done in seen if done >= len(asked) // 4)
    return (seen[len(asked)] - seen[first]) / (len(asked) - first)


def timed(
    work: Callable[[], Awaitable[object]], count: int
) -> tuple[float, float]:
    """Questions a second, and this process's milliseconds of CPU a question."""
    begun, cpu = time.perf_counter(), time.process_time()
    asyncio.run(work())  # type: ignore[arg-type]
    ms = 1000 * (time.process_time() - cpu) / count
    return count / (time.perf_counter() - begun), ms


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare(url: str, root: Path, count: int, rounds: int) -> None:
    """Several rounds of each in turn; the median is told."""
    asked = questions(images(root), count)
    bodies = [
        json.dumps({"model": "m", "messages": messages(root, q)}).encode()
        for q in asked[:IMAGES]
    ]
    rates: dict[str, list[tuple[float, float]]] = {
        name: [] for name in ("bare aiohttp", "our client", "visualjudge")
    }
    if find_spec("openai") is not None:
        rates["openai SDK"] = []
    for number in range(rounds):
        rates["bare aiohttp"].append(
            timed(lambda: bare(url, bodies, count), count)
        )
        rates["our client"].append(
            timed(lambda: client(url, root, asked, count), count)
        )
        rates["visualjudge"].append(
            timed(
                lambda n=number: ours(url, root, asked, root / f"run{n}"), count
            )
        )
        if "openai SDK" in rates:
            few = max(count // 4, 100)
            rates["openai SDK"].append(
                timed(lambda n=few: sdk(url, root, asked, n), few)
            )
    reference = statistics.median(rate for rate, _ in rates["bare aiohttp"])
    print(
        f"{count} questions, two 640x480 PNGs each ({len(bodies[0]) / 1e6:.2f} MB a "
        f"request), {rounds} rounds"
    )
    for name, seen in rates.items():
        rate, cpu = (
            statistics.median(values) for values in zip(*seen, strict=True)
        )
        print(
            f"  {name:14} {rate:7.0f} questions/s   {rate / reference:5.2f} of bare "
            f"aiohttp   {cpu:.2f} ms of CPU a question"
        )


def memory(url: str, root: Path, count: int) -> None:
    """The peak after a tenth of the questions, and after all."""
    names = images(root)
    first = count // 10
    asyncio.run(ours(url, root, questions(names, first), root / "memory_first"))
    after_first = megabytes()
    asked = questions(names, count)
    begun = megabytes()
    asyncio.run(ours(url, root, asked, root / "memory_all"))
    print(
        f"peak memory: {after_first:.0f} MB after {first} questions, {megabytes():.0f} "
        f"MB after {count} more"
    )
    print(f"  (the questions themselves: {begun - after_first:.0f} MB)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--memory",
        type=int,
        default=0,
        help="also: peak memory over so many questions",
    )
    parser.add_argument(
        "--lean",
        action="store_true",
        help="ask a server that counts bytes, in place of aiohttp's",
    )
    parser.add_argument("--url", help="ask this server, in place of aiohttp's")
    args = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="judge_bench_"))
    try:
        with (
            nullcontext(args.url)
            if args.url
            else _server(serve_lean if args.lean else serve) as url
        ):
            compare(url, root, args.questions, args.rounds)
            if args.memory:
                memory(url, root, args.memory)
    finally:
        shutil.rmtree(root)


@contextmanager
def _server(run: Callable[[int], None]) -> Iterator[str]:
    """``run`` in a process of its own, on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = multiprocessing.get_context("spawn").Process(
        target=run, args=(port,), daemon=True
    )
    process.start()
    try:
        _wait(port)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()


def _wait(port: int) -> None:
    for _ in range(1200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit("the server does not start")


if __name__ == "__main__":
    main()

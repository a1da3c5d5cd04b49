"""Change one line of src at a time, at random, and see whether the nearest tests
notice.

    python tools/mutate.py --changes 30 --seed 7 [--room analysis] [--files 6]

A change is one of: a comparison, an arithmetic or boolean operator, a number or a truth
value, the bound of a slice, a returned value. Each is made in a copy of the tracked
files, where the tests that reach the module by the fewest imports run first, in turn
with those that share most of its rare words, and last those that compare whole results
with recorded ones, the room's own first. A test counts if it fails twice with the
change and passes without it; any other that fails is left out. Survivors are printed
with their line: read each, since some change nothing that a user can see.
"""

from __future__ import annotations

import argparse
import ast
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

from visualjudge.core.seeding import rng_for

ROOT = Path(__file__).parents[1]
PACKAGE = "src/visualjudge"
COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
}
LEFT_OUT = (ast.JoinedStr, ast.Assert)
ASSERTED = {"strict", "frozen", "slots", "eq"}
"""Keywords of ``zip`` and ``dataclass`` that change nothing but in a broken program."""
BOOLEAN = {ast.And: ("and", "or"), ast.Or: ("or", "and")}
RECORDED = "from recording import"
OUT_OF_TIME = "out of time"
WORD = re.compile(r"[a-z_]{4,}")
IMPORTED = re.compile(r"visualjudge(?:\.\w+)+")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Change:
    """Bytes ``start`` to ``end`` of a file become ``new``."""

    path: str
    line: int
    start: int
    end: int
    new: str

    def applied(self, source: bytes) -> bytes:
        """Return the changed source."""
        return source[: self.start] + self.new.encode() + source[self.end :]


class Places:
    """The byte offsets of the nodes of a file."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path = path
        self.source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def start(self, node: ast.expr) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr) -> int:
        return self._lines[(node.end_lineno or 0) - 1] + (
            node.end_col_offset or 0
        )

    def text(self, node: ast.expr) -> str:
        return self.source[self.start(node) : self.end(node)].decode()

    def whole(self, node: ast.expr, new: str) -> Change:
        """Return the change of a node to ``new``."""
        return Change(
            self.path, node.lineno, self.start(node), self.end(node), new
        )

    def between(
        self, left: ast.expr, right: ast.expr, words: tuple[str, str]
    ) -> Iterator[Change]:
        """Yield the change of the operator between two nodes."""
        old, new = words
        low = self.end(left)
        found = re.search(
            re.escape(old).encode(), self.source[low : self.start(right)]
        )
        if found:
            start = low + found.start()
            yield Change(
                self.path, left.end_lineno or 0, start, low + found.end(), new
            )


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below ``node``, without annotations, f-strings and assertions."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        if isinstance(node, ast.keyword) and node.arg in ASSERTED:
            continue
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST) and not isinstance(child, LEFT_OUT):
                yield child
                yield from walk(child)


def is_text(node: ast.expr) -> bool:
    """Whether a node is a text, whose sum has no difference."""
    text = isinstance(node, ast.Constant) and isinstance(
        node.value, str | bytes
    )
    return text or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple)


def operators(node: ast.AST, places: Places) -> Iterator[Change]:
    """Yield the changes of an operator."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield from places.between(left, right, COMPARISONS[type(op)])
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in ARITHMETIC and not (is_text(left) or is_text(right)):
                yield from places.between(left, right, ARITHMETIC[type(op)])
        case ast.BoolOp(op=op, values=[first, second, *_]):
            yield from places.between(first, second, BOOLEAN[type(op)])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield places.whole(node, f"bool({places.text(operand)})")


def values(node: ast.AST, places: Places) -> Iterator[Change]:
    """Yield the changes of a number, a truth value, a slice's bound or a returned
    value."""
    match node:
        case ast.Constant(value=bool(value)):
            yield places.whole(node, str(not value))
        case ast.Constant(value=int(value) | float(value)):
            yield places.whole(node, repr(value + 1))
        case ast.Slice(lower=lower, upper=upper):
            bounds = [
                one for one in (lower, upper) if isinstance(one, ast.expr)
            ]
            for bound in bounds:
                if not isinstance(bound, ast.Constant):
                    yield places.whole(bound, f"({places.text(bound)}) + 1")
        case ast.Return(value=ast.expr() as value):
            if places.text(value) != "None":
                yield places.whole(value, "None")


def changes_of(path: str, source: bytes) -> Iterator[Change]:
    """Yield every change of a file."""
    places = Places(path, source)
    for node in walk(ast.parse(source)):
        yield from operators(node, places)
        yield from values(node, places)


def compiles(change: Change, source: bytes) -> bool:
    """Whether the changed file is Python."""
    try:
        compile(change.applied(source), change.path, "exec")
    except SyntaxError:
        return False
    return True


def module_of(path: str) -> str:
    """Return the dotted name of a file of src."""
    dotted = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    return dotted.removesuffix(".__init__")


def imports(files: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the modules that each file names, in imports or in texts of tables."""
    modules = {module_of(path) for path in files if path.startswith(PACKAGE)}
    named = {}
    for path, text in files.items():
        words = set(IMPORTED.findall(text))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                words |= {f"{node.module}.{alias.name}" for alias in node.names}
        named[path] = (words & modules) - {module_of(path)}
    return named


def nearest_tests(target: str, named: Mapping[str, set[str]]) -> list[str]:
    """Return the test files by their distance in imports from a file of src, where its
    room and its name each count as one import; among equals, those that import the
    least. ``named``: the modules that each file names.
    """
    users: dict[str, list[str]] = {}
    for path, modules in named.items():
        for module in modules:
            users.setdefault(module, []).append(path)
    distance = {target: 0}
    waiting = deque([target])
    while waiting:
        path = waiting.popleft()
        for user in users.get(module_of(path), ()):
            if user not in distance:
                distance[user] = distance[path] + 1
                waiting.append(user)
    room = target.removeprefix(PACKAGE + "/").split("/")[0]
    stem = Path(target).stem.strip("_")

    def far(path: str) -> int:
        return (
            distance[path] - (f"/{room}/" in path) - (stem in Path(path).stem)
        )

    tests = [path for path in distance if Path(path).name.startswith("test_")]
    return sorted(tests, key=lambda path: (far(path), len(named[path])))


def alike_tests(target: str, files: Mapping[str, str]) -> list[str]:
    """Return the test files by the words that they share with a file of src; a word
    counts more, the fewer files have it, and less in a long file. Each folder that they
    share doubles that."""
    words = {
        path: set(WORD.findall(text.lower())) for path, text in files.items()
    }
    times = Counter(word for each in words.values() for word in each)

    def shared(path: str) -> float:
        both = words[path] & words[target]
        rare = sum(1 / times[word] for word in both) / len(words[path]) ** 0.5
        folders = set(Path(target).parts) & set(Path(path).parts)
        return float(rare * 2 ** len(folders))

    tests = [path for path in words if Path(path).name.startswith("test_")]
    return sorted(tests, key=shared, reverse=True)


def recorded_tests(target: str, files: Mapping[str, str]) -> list[str]:
    """Return the tests that compare whole results with recorded ones, first those of
    the room of a file of src."""
    room = target.removeprefix(PACKAGE + "/").split("/")[0]
    tests = [path for path, text in files.items() if RECORDED in text]
    return sorted(tests, key=lambda path: f"/{room}/" not in path)


def in_turn(*rankings: list[str]) -> list[str]:
    """Return what stands first in one of the rankings, then second, each once."""
    ranked = chain.from_iterable(zip_longest(*rankings))
    return [*dict.fromkeys(filter(None, ranked))]


class Copy:
    """A copy of the tracked files, in which changes are made and tests run."""

    def __init__(self, root: Path, limit: float) -> None:
        self.root = root
        self.limit = limit
        self.broken: set[str] = set()
        listed = [
            "git",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]
        names = subprocess.run(
            listed, cwd=ROOT, capture_output=True, check=True
        )
        self.names = [
            name for name in names.stdout.decode().split("\0") if name
        ]
        for name in self.names:
            if (ROOT / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, root / name)

    def failing(self, tests: list[str]) -> list[str] | None:
        """Return the first test that fails, if any; None if time is up."""
        skip = [
            f"--{'deselect' if '::' in name else 'ignore'}={name}"
            for name in sorted(self.broken)
        ]
        tests = [name for name in tests if name not in self.broken]
        options = [
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "not vllm",
            *skip,
        ]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        environment = {"PYTHONPATH": str(self.root / "src")}
        try:
            done = subprocess.run(
                [
                    "env",
                    *(f"{k}={v}" for k, v in environment.items()),
                    *command,
                ],
                cwd=self.root,
                capture_output=True,
                text=True,
                timeout=self.limit,
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode in (0, 5):
            return []
        return FAILED.findall(done.stdout)[:1] or tests[:1]

    def noticed(self, change: Change, tests: list[str]) -> str:
        """Return the test that fails because of a change; "" if none does."""
        path = self.root / change.path
        while True:
            path.write_bytes(change.applied(path.read_bytes()))
            failing = self.failing(tests)
            again = self.failing(failing) if failing else failing
            shutil.copy2(ROOT / change.path, path)
            if failing is None or again is None:
                return OUT_OF_TIME
            if not failing:
                return ""
            without = self.failing(failing)
            if without is None:
                return OUT_OF_TIME
            if again and not without:
                return failing[0]
            self.broken.add(failing[0])


def drawn(copy: Copy, room: str, seed: int, number: int) -> list[Change]:
    """Return changes drawn at random from all that can be made in a room."""
    below = f"{PACKAGE}/{room}" if room else PACKAGE
    sources = {
        name: (copy.root / name).read_bytes()
        for name in copy.names
        if name.startswith(below) and name.endswith(".py")
    }
    every = [
        one for name, text in sources.items() for one in changes_of(name, text)
    ]
    order = rng_for(seed, "mutate", room).permutation(len(every))
    fit = (
        every[k] for k in order if compiles(every[k], sources[every[k].path])
    )
    return [change for change, _ in zip(fit, range(number), strict=False)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--room", default="", help="a folder of src/visualjudge"
    )
    parser.add_argument(
        "--files", type=int, default=6, help="nearest test files to run"
    )
    parser.add_argument(
        "--seconds", type=float, default=300, help="limit of a change"
    )
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder), asked.seconds)
        files = {
            name: (copy.root / name).read_text("utf-8")
            for name in copy.names
            if name.endswith(".py") and name.startswith((PACKAGE, "tests/"))
        }
        named = imports(files)
        for change in drawn(copy, asked.room, asked.seed, asked.changes):
            near = in_turn(
                alike_tests(change.path, files),
                nearest_tests(change.path, named),
            )[: asked.files]
            tests = [
                *dict.fromkeys([*near, *recorded_tests(change.path, files)])
            ]
            began = time.monotonic()
            by = copy.noticed(change, tests)
            took = time.monotonic() - began
            state = by if by == OUT_OF_TIME else "caught" if by else "SURVIVED"
            counts[state] += 1
            where = f"{change.path.removeprefix(PACKAGE + '/')}:{change.line}"
            changed = change.applied((copy.root / change.path).read_bytes())
            line = changed.splitlines()[change.line - 1].decode().strip()
            print(
                f"{state} {where} ({took:.0f} s) {by}\n    {line}", flush=True
            )
    print(", ".join(f"{number} {state}" for state, number in counts.items()))


if __name__ == "__main__":
    main()

"""Benchmarks of answers to requests, most about an image: each with its layout below
its row. Images are in ``of_images.py``.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.analysis.figures.published_scores import Score
from visualjudge.apps.adopt.adopted_question import (
    Item,
    Option,
    Reply,
    on_ten,
    safe,
)
from visualjudge.apps.adopt.benchmarks.layout import (
    Benchmark,
    JudgeFile,
    Pairs,
    Study,
    by_part,
    unique,
)
from visualjudge.apps.adopt.files import (
    Images,
    Row,
    at,
    contents,
    first_tables,
    records,
)
from visualjudge.core.records import FAILED, IMAGE_MARK, LETTERS, TURNED, Order

# -------------------------------------------------------------- judgebench

JUDGEBENCH_DECISIONS = {"A>B": "A", "B>A": "B", "A=B": "tie"}
JUDGEBENCH_ORDERS: tuple[Order, Order] = ("AB", "BA")
JUDGEBENCH_PARTS = {
    "mmlu-pro": "knowledge",
    "livebench-reasoning": "reasoning",
    "livebench-math": "math",
    "livecodebench": "coding",
}
JUDGEBENCH_PAIRS = Pairs(
    {
        "key": ("pair_id",),
        "truth": ("label",),
        "request": ("question",),
        "cluster": ("original_id",),
        "text": ("response_{}",),
    },
    {"A>B": "A", "B>A": "B"},
    ("A", "B"),
    ("tie",),
)


def read_judgebench(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return the pairs of all files of ``folder``."""
    items: dict[str, Item] = {}
    for path in sorted(folder.rglob("*")):
        content = (
            contents(path)
            if path.suffix in (".jsonl", ".json", ".parquet")
            else None
        )
        is_table = at(content, "0.pair_id") is not None
        for row in records(path, content) if is_table else ():
            source = str(row.get("source") or "judgebench")
            starts = (
                part
                for start, part in JUDGEBENCH_PARTS.items()
                if source.startswith(start)
            )
            item = JUDGEBENCH_PAIRS.item(row, next(starts, source), Images())
            known = items.setdefault(item.key, item)
            if known.answer != item.answer:
                raise row.fault("label", "differs from another file's")
            items[item.key] = known if known.request else item
    return Study(list(items.values()))


def judgebench_replies(path: Path, _: re.Match[str]) -> Iterator[Reply]:
    """Yield the judgments of a file in both orders."""
    for row in records(path):
        decisions = [{"decision": item} for item in row.get("decisions") or ()]
        for order, judgment in zip(
            JUDGEBENCH_ORDERS, row.get("judgments") or decisions, strict=False
        ):
            yield _judgebench_reply(
                str(row.need("pair_id")), order, judgment or {}
            )


def _judgebench_reply(key: str, order: Order, judgment: Any) -> Reply:
    """Return a judgment: its text, or an object that contains it. A failed call is
    null; reward models have scores and an empty text."""
    value = JUDGEBENCH_DECISIONS.get(str(judgment.get("decision")), FAILED)
    text = at(judgment, "judgment.response", "judgment")
    value = TURNED.get(value, value) if order == "BA" else value
    return Reply(
        key, order, value, text if isinstance(text, str) and text else None
    )


JUDGEBENCH = Benchmark(
    "JudgeBench: hard questions of knowledge, reasoning, math and coding; text only",
    "MIT",
    "any",
    "https://github.com/ScalerLab/JudgeBench",
    "*.jsonl of its data or outputs folder",
    read_judgebench,
    by_part("judgebench", "net", ("judgebench", "net"), digits=3),
    (
        r"(?:.*/)?[^/]*judge_model=(?P<judge>[^/,]+)(?:,[^/]*)?\.jsonl?",
        r"(?:.*/)?(?P<judge>[^/]+)_decisions\.jsonl?",
    ),
    judgebench_replies,
)
"""JudgeBench (Tan et al. 2024, ScalerLab/JudgeBench): pairs of answers to hard
questions, one of them wrong. Text only.

``FOLDER/**/*.jsonl`` (or .json, .parquet): rows ``pair_id, source, question,
response_A, response_B, label`` ("A>B" or "B>A"), and in the authors' outputs
``judgments: [{"judgment", "decision"}, …]``: the decision in the stored order, then
with the responses exchanged, in the letters shown. Files with ``decisions: ["A>B",
"B>A"]`` and no texts are read too; the dataset then has only labels. A file's judge is
its ``judge_model=…``, or else its name up to ``_decisions``.
"""


# -------------------------------------------------------------- mllm_judge

MLLM_JUDGE_IDS = {"score": "score_id", "pair": "pair_id", "batch": "id"}
MLLM_JUDGE_HOMES = (
    "Benchmark_Lite",
    "",
    "Benchmark",
    "Dataset/Benchmark",
    "Datasets/Benchmark",
    "Dataset/Benchmark_Lite",
)
MLLM_JUDGE_IMAGES = (
    "",
    "image",
    "Images",
    "Dataset",
    "Dataset/image",
    "Datasets/Images",
)
MLLM_JUDGE_SCALE = (1.0, 5.0)
MLLM_JUDGE_PAIRS = Pairs(
    {
        "key": ("pair_id",),
        "truth": ("human_answer", "human"),
        "request": ("instruction",),
        "image": ("image_path", "image"),
        "text": ("answer{}.answer", "answer{}"),
        "model": ("answer{}.name",),
    },
    {"A": "A", "B": "B", "C": "tie"},
    ("1", "2"),
    ("tie",),
)
MLLM_JUDGE_RULES = (
    ("pair", "pair", "exact"),
    ("pair without ties", "pair", "no_tie_label"),
    ("score", "score", "pearson"),
    ("batch", "batch", "levenshtein"),
)


def read_mllm_judge(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return the three kinds of question."""
    homes = [folder / home for home in MLLM_JUDGE_HOMES]
    images = Images(*(folder / name for name in MLLM_JUDGE_IMAGES))
    items = []
    left_out = []
    for mode in MLLM_JUDGE_IDS:
        for path in first_tables(
            homes, *(f"{mode}.*", f"{mode}_lite.*", f"{mode.capitalize()}.*")
        )[:1]:
            images.homes = (*images.homes, path.parent.parent / "image")
            for key, row in _mllm_judge_keyed(mode, path):
                item = _mllm_judge_item(mode, key, row, images)
                items += [] if item is None else [item]
                left_out += (
                    [f"{row.place}: has no label that can be used"]
                    if item is None
                    else []
                )
    return Study(items, images.missing, left_out)


def _mllm_judge_keyed(mode: str, path: Path) -> Iterator[tuple[str, Row]]:
    keys = Counter[str]()
    for number, row in enumerate(records(path), 1):
        name = (
            row[MLLM_JUDGE_IDS[mode]]
            if row.get(MLLM_JUDGE_IDS[mode]) is not None
            else number
        )
        yield unique(keys, f"{mode}/{name}"), row


def _mllm_judge_item(
    mode: str, key: str, row: Row, images: Images
) -> Item | None:
    """Return the question of a record; None if people gave no label that can be
    used."""
    part = f"{mode}/{row.get('original_dataset') or 'all'}"
    label = str(at(row, "human_answer", "human", "human_score")).removesuffix(
        ".0"
    )
    if mode == "pair":
        return (
            MLLM_JUDGE_PAIRS.item(row, part, images, key)
            if label in MLLM_JUDGE_PAIRS.answers
            else None
        )
    answers = [row] if mode == "score" else row.need("answers")
    answers = [
        answer if isinstance(answer, dict) else {"answer": answer}
        for answer in answers
    ]
    options = tuple(
        Option(str(answer.get("answer") or ""), source=answer.get("name"))
        for answer in answers
    )
    blank = MLLM_JUDGE_PAIRS.item(
        Row({**row, "human_answer": "C"}, row.place, {}), part, images, key
    )
    blank = replace(blank, options=options, ties=())
    if mode == "score" and label in ("1", "2", "3", "4", "5"):
        return replace(
            blank,
            answer=on_ten(float(label), MLLM_JUDGE_SCALE),
            kind="scoring",
            scale=MLLM_JUDGE_SCALE,
        )
    if len(options) > 1 and sorted(label) == sorted(LETTERS[: len(options)]):
        return replace(blank, answer=label, kind="ranking")
    return None


def mllm_judge_replies(path: Path, match: re.Match[str]) -> Iterator[Reply]:
    """Yield the replies of a judge to the questions of one kind."""
    for key, row in _mllm_judge_keyed(match["mode"], path):
        yield Reply(key, text=str(row.get("mllm_judge") or ""))


def _mllm_judge_scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
    scores: list[Score] = []
    for name, mode, rule in MLLM_JUDGE_RULES:
        tasks = tuple(part for part in parts if part.startswith(f"{mode}/"))
        cells = [
            ("", tasks),
            *((part.removeprefix(mode), (part,)) for part in tasks),
        ]
        made = (
            Score(f"mllm-as-a-judge/{name}{end}", rule, of, 1.0, 3)
            for end, of in cells
            if of
        )
        scores += made
    return tuple(scores)


MLLM_JUDGE = Benchmark(
    "MLLM-as-a-Judge: answers about images; scores, pairs with ties, rankings",
    "MIT",
    "any",
    "https://github.com/Dongping-Chen/MLLM-Judge",
    "Dataset/Benchmark/{score,pair,batch}.jsonl and Dataset/image/; {mode}_MODEL.jsonl "
    "for replies",
    read_mllm_judge,
    _mllm_judge_scores,
    (r"(?:.*/)?(?P<mode>score|pair|batch)_(?!lite\.)(?P<judge>[^/]+)\.jsonl",),
    mllm_judge_replies,
    {"C": "tie"},
)
"""MLLM-as-a-Judge (Chen et al. 2024, Dongping-Chen/MLLM-Judge): answers about images,
as scores, pairs and batches.

``FOLDER/[Dataset/]Benchmark/{score,pair,batch}.jsonl`` (or ``…_lite.jsonl``, .json,
.parquet): ``instruction``, ``image_path``, ``original_dataset``; a score has
``score_id, name, answer, human`` (1 to 5), a pair ``pair_id, answer1, answer2,
human_answer`` ("A", "B", "C" for a tie), a batch ``id, answers, human_answer`` ("CDAB",
best first). Replies: ``{mode}_{MODEL}.jsonl``, the same records with ``mllm_judge``.
"""


# -------------------------------------------------------------- mmrb2

MMRB2_PARTS = ("t2i", "edit", "interleaved", "reasoning")
MMRB2_FORMS = ("", "_full", "_response_only")
MMRB2_CHOSEN = {"A": "A", "B": "B"}
MMRB2_ORDERS: tuple[tuple[str, Order], ...] = (
    ("forward", "AB"),
    ("reverse", "BA"),
)


def read_mmrb2(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return the pairs of every part, and those of an id, which may stand for
    several."""
    home = folder / "benchmark" if (folder / "benchmark").is_dir() else folder
    pairs: list[tuple[str, str, Row]] = []
    for part in MMRB2_PARTS:
        for path in first_tables(
            (home,), *(f"{part}{form}.json*" for form in MMRB2_FORMS)
        ):
            content = contents(path)
            rows = records(
                path,
                content.get("pairs") if isinstance(content, dict) else content,
            )
            pairs += [
                (part, str(at(row, "id") or row.need("pair_id")), row)
                for row in rows
            ]
    often = Counter(name for _, name, _ in pairs)
    seen = Counter[str]()
    images = Images(home, home / "images", home / "input_images")
    keys = defaultdict[str, list[str]](list)
    items = []
    for part, name, row in pairs:
        key = unique(seen, name if often[name] == 1 else f"{part}/{name}")
        keys[f"{part}/{name}"].append(key)
        items.append(_mmrb2_item(key, part, row, images))
    return Study(items, images.missing, keys=keys)


def _mmrb2_item(key: str, part: str, row: Row, images: Images) -> Item:
    about = _mmrb2_option(row, "prompt", images)
    options = (
        _mmrb2_option(row, "response_a", images),
        _mmrb2_option(row, "response_b", images),
    )
    chosen = (
        str(row.get("chosen") or row.get("human_preference") or "")
        .strip()
        .upper()
    )
    answer = Row({"chosen": chosen or None}, row.place, {}).one_of(
        "chosen", MMRB2_CHOSEN
    )
    name = at(row, "prompt_metadata.id")
    cluster = key if name is None else f"{row.get('prompt_source')}/{name}"
    return Item(
        key, part, cluster, about.text, options, answer, images=about.images
    )


def _mmrb2_option(row: Row, name: str, images: Images) -> Option:
    """Return the prompt or a response, with its texts and images in their order."""
    content = at(row, f"{name}.response_content", f"{name}_content", name)
    if content is None and name != "prompt":
        row.need(name)
    segments = (
        [("text", content)] if isinstance(content, str) else list(content or ())
    )
    if not all(
        isinstance(segment, list | tuple) and len(segment) == 2
        for segment in segments
    ):
        raise row.fault(name, 'must be a list of ["text" | "image", value]')
    displayed = images.all(
        *(value for kind, value in segments if kind == "image")
    )
    text = "\n".join(str(value) for kind, value in segments if kind == "text")
    marked = (
        IMAGE_MARK if kind == "image" else safe(str(value))
        for kind, value in segments
    )
    source = at(row, f"{name}.model_name", f"{name}.model", f"{name}_model")
    return Option(text, displayed, source, marked="\n".join(marked))


def mmrb2_replies(path: Path, match: re.Match[str]) -> Iterator[Reply]:
    """Yield the first judgement of each direction that was asked; one that is neither
    letter counts as wrong.
    """
    part = MMRB2_PARTS[int(match["part"]) - 1]
    for name, answers in contents(path).items():
        for direction, order in MMRB2_ORDERS:
            if answers.get(direction):
                judgement = at(answers, f"{direction}.0.judgement")
                value = MMRB2_CHOSEN.get(str(judgement), FAILED)
                wrong = False if judgement and value == FAILED else None
                value = TURNED.get(value, value) if order == "BA" else value
                yield Reply(f"{part}/{name}", order, value, right=wrong)


MMRB2 = Benchmark(
    "Multimodal RewardBench 2: images, edits, interleaved texts, reasoning",
    "CC BY-NC 4.0",
    "evaluation only",
    "https://github.com/facebookresearch/MMRB2",
    "benchmark/{t2i,edit,interleaved,reasoning}_response_only.json, and "
    "MODEL_task1_image.json … for replies",
    read_mmrb2,
    by_part("mmrb2", "both_orders", ("mmrb2", "both_orders")),
    (
        r"(?:.*/)?(?P<judge>[^/]+)_task(?P<part>[1-4])(?:_[^/]+)?\.json",
        r"(?:.*/)?task(?P<part>[1-4])_(?P<judge>[^/]+)\.json",
    ),
    mmrb2_replies,
)
"""Multimodal RewardBench 2 (facebookresearch/MMRB2): pairs of generated images, edits,
interleaved texts and answers.

``FOLDER/[benchmark/]{t2i,edit,interleaved,reasoning}[_full|_response_only].json`` (or
.jsonl): ``{"pairs": [{"id", "prompt_content", "response_a": {"model_name",
"response_content": [["image", file] | ["text", text], …]}, "response_b", "chosen": "A"
| "B"}]}``, which the authors' scripts complete with images. Replies:
``FOLDER/**/MODEL_task{1,2,3,4}_*.json`` or ``task{1,2,3,4}_MODEL.json``: ``{id:
{"forward": [{"judgement"}], "reverse": [{"judgement"}]}}``, the reverse in the letters
shown.
"""


# -------------------------------------------------------------- multimodal_rewardbench

MULTIMODAL_LABELS = {"A": "Output1", "B": "Output2"}
MULTIMODAL_SPLIT = {
    "safety": ("pairs", "safety/bias", "safety/toxicity"),
    "reasoning": ("math", "reasoning/math", "reasoning/coding"),
}
"""Categories that the authors' code splits by the start of an ID."""
MULTIMODAL_PAIRS = Pairs(
    {
        "key": ("ID",),
        "truth": ("Better",),
        "request": ("Text",),
        "image": ("Image",),
        "text": ("Output{}",),
    },
    {"Output1": "A", "Output2": "B"},
    ("1", "2"),
)


def read_multimodal(folder: Path, files: Sequence[JudgeFile]) -> Study:
    """Return the pairs of ``all_data.json``, or of the replies if the copy has nothing
    else."""
    tables = first_tables((folder / "data", folder), "all_data.*")
    rows = (
        records(tables[0])
        if tables
        else [
            _multimodal_question(row)
            for file, _ in files[:1]
            for row in records(file)
        ]
    )
    images = Images(tables[0].parent if tables else folder)
    items = [
        MULTIMODAL_PAIRS.item(row, _multimodal_part(row), images)
        for row in rows
    ]
    return Study(items, images.missing + sum(not item.images for item in items))


def _multimodal_question(row: Row) -> Row:
    """Return the row of a reply's question, whose ``Meta`` may contain only its
    category."""
    known = {
        "Better": row.one_of("Label", MULTIMODAL_LABELS),
        "ID": row.get("ID"),
        "Image": row.get("Image"),
    }
    return Row({**known, **row.need("Meta")}, row.place, row.names)


def _multimodal_part(row: Row) -> str:
    category = str(row.get("Category"))
    start, yes, no = MULTIMODAL_SPLIT.get(category, ("", category, category))
    return yes if str(row.need("ID")).lower().startswith(start) else no


def multimodal_replies(path: Path, _: re.Match[str]) -> Iterator[Reply]:
    """Yield the replies of a file, decided as its authors do."""
    bits = np.random.MT19937()
    bits._legacy_seeding([123])  # as Python's random.seed(123)
    coin = np.random.Generator(bits)
    for row in records(path):
        text = str(row.need("output"))
        letter = next(
            (letter for letter in "AB" if f"[[{letter}]]" in text), None
        )
        counted = letter or ("A" if coin.random() < 0.5 else "B")
        right = MULTIMODAL_LABELS[counted] == row.one_of(
            "Label", MULTIMODAL_LABELS
        )
        yield Reply(str(row.need("ID")), "AB", letter or "Failed", text, right)


MULTIMODAL = Benchmark(
    "Multimodal RewardBench: answers about images; correctness, preference, knowledge, "
    "reasoning, safety, VQA",
    "CC BY-NC 4.0",
    "evaluation only",
    "https://github.com/facebookresearch/multimodal_rewardbench",
    "data/all_data.json with its images, outputs/MODEL.jsonl for replies",
    read_multimodal,
    by_part(
        "multimodal-rewardbench",
        "exact",
        ("multimodal-rewardbench", "exact"),
        digits=1,
    ),
    (r"outputs/(?P<judge>[^/]+)\.jsonl",),
    multimodal_replies,
)
"""Multimodal RewardBench (Yasunaga et al. 2025,
facebookresearch/multimodal_rewardbench): answers about images.

``FOLDER/[data/]all_data.json``: ``ID, Category, Image, Text, Output1, Output2, Better``
("Output1" or "Output2"); images are in the folder of that file; otherwise the dataset
has only labels. Replies: ``FOLDER/outputs/MODEL.jsonl`` with ``Meta`` (the row),
``Label`` and ``output``. Its score looks for ``[[A]]``, then ``[[B]]``, and tosses a
coin (Python's generator, seed 123) for a reply with neither; the same tosses are
reproduced here for each file.
"""


# -------------------------------------------------------------- vl_rewardbench

VL_REWARDBENCH_SOURCES = {
    **dict.fromkeys(("vlfeedback", "wildvision-battle"), "general"),
    **dict.fromkeys(("povid", "rlhf-v", "rlaif-v"), "hallucination"),
    "reasoning_tasks": "reasoning",
}
VL_REWARDBENCH_IDS = {
    **dict.fromkeys(
        ("hallucination_pair", "RLAIF-V", "RLHF-V"), "hallucination"
    ),
    **dict.fromkeys(("mathverse", "mmmu"), "reasoning"),
}
VL_REWARDBENCH_PAIRS = Pairs(
    {
        "key": ("id",),
        "truth": ("human_ranking.0",),
        "request": ("query",),
        "image": ("image", "image_path"),
        "text": ("response.{}",),
        "model": ("models.{}",),
    },
    {"0": "A", "1": "B"},
    ("0", "1"),
)


def read_vl_rewardbench(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return the pairs."""
    homes = (folder, folder / "data")
    tables = first_tables(
        homes, "data.json", "*.parquet", "*.arrow", "*.jsonl", "*.json"
    )
    images = Images(*homes)
    keys = Counter[str]()
    rows = [row for path in tables for row in records(path)]
    items = [
        VL_REWARDBENCH_PAIRS.item(
            row, _vl_rewardbench_part(row), images, unique(keys, row.need("id"))
        )
        for row in rows
    ]
    return Study(items, images.missing + sum(not item.images for item in items))


def _vl_rewardbench_part(row: Row) -> str:
    image = row.get("image") or row.get("image_path")
    folders = image.split("/") if isinstance(image, str) else []
    by_id = (
        part
        for start, part in VL_REWARDBENCH_IDS.items()
        if str(row["id"]).startswith(start)
    )
    return VL_REWARDBENCH_SOURCES.get(
        folders[1] if len(folders) > 2 else ""
    ) or next(by_id, "general")


VL_REWARDBENCH = Benchmark(
    "VL-RewardBench: answers about images; general, hallucination, reasoning",
    "MIT",
    "any",
    "https://huggingface.co/datasets/MMInstruction/VL-RewardBench",
    "data.json, data/data.jsonl or *.parquet, and images/; replies/MODEL.jsonl for "
    "replies",
    read_vl_rewardbench,
    by_part(
        "vl-rewardbench",
        "read",
        ("vl-rewardbench/overall", "read"),
        ("vl-rewardbench/macro", "macro"),
        digits=1,
    ),
)
"""VL-RewardBench (Li et al. 2024): pairs of answers about an image, one of them
preferred.

``FOLDER/data.json`` (or the only table there, or ``[data/]*.parquet``): ``id, query,
response: [first, second], image`` (``image_path`` in the repository's
``data/data.jsonl``), ``human_ranking`` (0 = better, 1 = worse), ``models``. The parts
follow from the image's folder if it names its source, else from the ``id``. Its score
(``cal.py``) ignores unreadable replies.
"""

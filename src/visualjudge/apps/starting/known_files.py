"""Files that say by themselves what they are, by their names, their beginning or their
columns, and what reads them. Formats of ground truth and predictions, which belong
together, are told apart in ``folder_contents.py``.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """A kind of file.

    Attributes
    ----------
    name
        Regular expression of the end of its path.
    text
        What it is, in words, and the way if no command reads it as it is.
    command
        What reads it, without ``visualjudge``. PATH and PATHS are the first file and
        all files, FOLDER and FOLDERS what ``name`` leaves of their paths, ROOT the
        folder of the images that the first names, IMAGES the images beside the first;
        other words in capitals are groups of ``line``. They stand in ``text``, too.
    has
        Texts in its first or last bytes.
    columns
        Columns that a table has, or fields of the first record, in lower case.
    line
        Regular expression of its first lines.
    verdicts
        Whether its columns are those of a judge's verdicts.
    """

    name: str
    text: str
    command: str = ""
    has: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    line: str = ""
    verdicts: bool = False


JSON = r"[^/]+\.json"
COCO_RESULTS = tuple(
    Known(
        JSON,
        task,
        has=('"image_id"', '"category_id"', '"score"', *field),
        line=r"\[",
    )
    for task, *field in (
        ("keypoint", '"keypoints"'),
        ("instance_segmentation", '"segmentation"'),
        ("object_detection",),
    )
)
"""By the field that tells their task; ``text`` is the task."""
PANOPTIC = (
    Known(JSON, "panoptic", has=('"segments_info"', '"categories"')),
    Known(JSON, "panoptic results", has=('"segments_info"',)),
)
COCO = Known(
    JSON,
    "COCO annotations",
    has=('"images"', '"categories"'),
    line=r"(?s)\{.*\"(annotations|bbox|segmentation)\":",
)
YOLO = Known(
    r"[^/]+\.txt",
    "YOLO labels",
    line=r"(?mi)\d+( -?[\d.]+(e-?\d+)?){4,}\s*$",
)
CLASSES = Known(
    r"(classes\.txt|[^/]+\.ya?ml)",
    "classes of YOLO labels",
    line=r"(?s)[\w ]+\n|(.*\n)?names\s*:",
)
VOC = Known(r"[^/]+\.xml", "PASCAL VOC annotations", has=("<annotation>",))
FORMATS = (
    *COCO_RESULTS,
    *PANOPTIC,
    Known(JSON, "captions of COCO", has=('"images"', '"caption"')),
    COCO,
    CLASSES,
    YOLO,
    VOC,
)
"""Ground truth and predictions, which belong together."""
OWN = (
    Known(r"run\.json", "a run of a judge", "card FOLDERS"),
    Known(
        r"dataset\.json",
        "a dataset of questions",
        "judge FOLDER --swap --model MODEL --out run",
    ),
    Known(
        r"(annotations|data_json_v2)/[^/]*_annotations\.json",
        "a data folder",
        "build FOLDER --out dataset",
    ),
)
"""What visualjudge wrote."""

SHAPES = (
    "import shapes --task object_detection --gt PATH --images IMAGES --out data "
    "--format "
)
ADOPT = "adopt PATHS --out study"
BENCHMARK = "adopt FOLDER --out study --benchmark "
SHEET = r"[^/]+\.(csv|tsv|jsonl|xlsx)"
TABLE = r"[^/]+\.(csv|tsv|jsonl|xlsx|json)"
LABELS = r"[^/]+\.txt"
ARRAYS = "; no importer reads them: visualjudge.import_samples takes arrays"
PAIRS = (
    "; of people's choices, `visualjudge import outputs` reads a row for each image, "
    "with the columns output, prompt, source and score (1 or 0)"
)
TABLE_OF_CLASSES = Known(
    SHEET,
    "a table of classes",
    line=r"(?i)(id|idx|index|value|label|class_id|number|trainid)[,\t]"
    r"([^\n]*[,\t])?(name|class|class_name|label_name)\s",
)
OUTPUTS = tuple(
    Known(
        TABLE,
        "scores of generated images: a table with the columns COLUMNS",
        f"import outputs --task generation_{'editing' if image else 't2i'} "
        f"--table PATH --root ROOT{renamed}"
        f"{'' if score else ' --score-column NAME'}"
        f"{'' if source else ' --source NAME'} --out data",
        columns=tuple(f"{names} {image} {score} {source}".split()),
    )
    for names, renamed in (
        ("file_name text", " --column output=file_name --column prompt=text"),
        ("file_name", " --column output=file_name"),
        ("output", ""),
    )
    for image in ("image", "")
    for score in ("score", "")
    for source in ("source", "")
)
"""Tables with the paths of images; Hugging Face calls the path ``file_name`` and the
prompt ``text``."""
IMAGES_OF_ROWS = tuple(
    Known(
        TABLE,
        f"{text}, a row for each; the import needs the score of each, people's or a "
        "metric's, in a column that --score-column names",
        f"import outputs --task generation_{task} --table PATH --root ROOT "
        + " ".join(f"--column {pair}" for pair in pairs.split())
        + ("" if " source=" in pairs else " --source NAME")
        + " --score-column NAME --out data",
        columns=tuple(columns.split()),
    )
    for text, task, columns, pairs in (
        (
            "edited images",
            "editing",
            "source edited instruction model",
            "output=edited image=source prompt=instruction source=model",
        ),
        (
            "edited images",
            "editing",
            "source edited instruction",
            "output=edited image=source prompt=instruction",
        ),
        (
            "filled images",
            "inpainting_low_level",
            "masked restored method",
            "output=restored image=masked source=method",
        ),
        (
            "filled images",
            "inpainting_high_level",
            "image mask result",
            "output=result",
        ),
        (
            "images of conditions",
            "controllable",
            "condition output",
            "control=condition",
        ),
        ("generated images", "t2i", "image prompt", "output=image"),
    )
)
"""Tables with images that were made, and of what, by their columns."""
KNOWN = (
    # labelling tools
    Known(
        JSON,
        "annotations of Label Studio",
        f"{SHAPES}label-studio",
        has=('"from_name"',),
    ),
    Known(
        JSON,
        "annotations of CVAT (Datumaro)",
        f"{SHAPES}cvat",
        has=('"label_id"', '"items"'),
    ),
    Known(
        JSON,
        "annotations of labelme",
        SHAPES.replace("PATH", "FOLDER") + "labelme",
        has=('"shapes"', '"imagePath"'),
    ),
    Known(
        r"[^/]+\.xml",
        "annotations of CVAT; export them as Datumaro or COCO",
        has=("<annotations>",),
    ),
    Known(
        JSON,
        "samples of FiftyOne; export them as fiftyone.types.COCODetectionDataset, the "
        "labels of each model too",
        has=('"_cls"',),
    ),
    Known(
        JSON,
        "annotations of Supervisely; export them as COCO",
        has=('"classTitle"',),
    ),
    Known(
        JSON,
        "annotations of VGG Image Annotator; export them as COCO",
        has=('"shape_attributes"',),
    ),
    # ground truth that only arrays hold
    Known(r"gt/gt\.txt", f"boxes of MOTChallenge{ARRAYS}", line=r"[\d.-]+,"),
    Known(
        LABELS,
        f"boxes of VisDrone{ARRAYS}",
        line=r"(\d+,){4}[01],\d+,-?\d+,-?\d+",
    ),
    Known(
        LABELS,
        f"rotated boxes of DOTA{ARRAYS}",
        line=r"(image\w+:.*\n)?(gsd:.*\n)?([\d.-]+ ){8}[\w-]+ \d",
    ),
    Known(
        LABELS,
        f"boxes of KITTI{ARRAYS}",
        line=r"[A-Za-z_]+( -?[\d.]+){14,15}\s",
    ),
    Known(
        r"[^/]+_bbx_gt\.txt",
        f"boxes of WIDER FACE{ARRAYS}",
        line=r"\S+\.jpg\n\d",
    ),
    Known(r"[^/]+\.odgt", f"boxes of CrowdHuman{ARRAYS}"),
    Known(
        JSON,
        f"masks of Segment Anything{ARRAYS}",
        has=('"predicted_iou"',),
    ),
    Known(
        r"[^/]+_seg\.png",
        "masks of the full ADE20K, whose classes are in two channels; "
        "ADEChallengeData2016 has label maps",
    ),
    Known(
        r"[^/]+_sync_groundtruth_depth_[^/]+\.png",
        "depth maps of KITTI, named unlike their images; name them alike, then "
        "visualjudge import depth --gt-scale 1/256",
    ),
    Known(
        r"[^/]+/disp0(GT)?\.pfm",
        "disparities of Middlebury",
        "import depth --gt FOLDER/*/disp0GT.pfm --gt-inverse --images "
        "FOLDER/*/im0.png --id-prefix {folder}_ --out data",
    ),
    # benchmarks
    Known(
        r"human/[^/]+/[^/]+_rater\d\.tsv",
        "ratings of ImagenHub",
        f"{BENCHMARK}imagenhub",
    ),
    Known(
        r"[^/]+_rater\d\.tsv",
        "ratings of ImagenHub; move them into human/TASK, then visualjudge adopt with "
        "--benchmark imagenhub",
    ),
    Known(
        r"image_(generation|edition)/[^/]+/pairwise\.json",
        "replies of GenAI-Bench",
        f"{BENCHMARK}genai-bench",
    ),
    Known(
        r"data/test\.json",
        "rankings of ImageReward",
        f"{BENCHMARK}imagereward",
        has=('"generations"', '"ranking"'),
    ),
    Known(
        r"editreward_bench_visual_quality\.jsonl",
        "EditReward-Bench",
        f"{BENCHMARK}editreward-bench",
    ),
    Known(
        r"shuffled_editscore_bench_[^/]*\.json",
        "EditScore-Bench",
        f"{BENCHMARK}editscore-bench",
    ),
    Known(
        r"[^/]+\.jsonl",
        "JudgeBench",
        f"{BENCHMARK}judgebench",
        columns=("pair_id", "label"),
    ),
    Known(
        r"Dataset/Benchmark/(score|pair|batch)\.jsonl",
        "MLLM-as-a-Judge",
        f"{BENCHMARK}mllm-as-a-judge",
    ),
    Known(
        r"benchmark/(t2i|edit|interleaved|reasoning)(_response_only)?\.json",
        "Multimodal RewardBench 2",
        f"{BENCHMARK}mmrb2",
    ),
    Known(
        r"data/all_data\.json",
        "Multimodal RewardBench",
        f"{BENCHMARK}multimodal-rewardbench",
    ),
    Known(
        r"(data/)?[^/]+\.(json|jsonl|parquet)",
        "VL-RewardBench",
        f"{BENCHMARK}vl-rewardbench",
        has=("human_ranking",),
    ),
    Known(
        JSON,
        "scores of TIFA's people and metrics for each image; `visualjudge adopt` reads "
        "a row for each, with the columns item, score, truth, judge",
        has=('"human_avg"', '"text_id"'),
    ),
    Known(
        JSON,
        "captions of SugarCrepe; as `index,question,A,B,answer,image` they are "
        "questions for visualjudge mmbench infer",
        has=('"negative_caption"',),
    ),
    Known(
        JSON,
        "edits to make; `visualjudge import outputs --task generation_editing` reads a "
        "table of those that models made, with scores",
        has=('"editing_prompt"',),
    ),
    Known(
        JSON,
        "details of TIFA's scores; `visualjudge adopt` reads a row for each image, "
        "with the columns item, score, truth",
        has=('"tifa_average"',),
    ),
    Known(
        JSON,
        "questions of TIFA about generated images; `visualjudge adopt` reads the "
        "answers, a row for each, with the columns item, verdict, truth",
        has=('"element_type"', '"choices"'),
    ),
    Known(
        JSON,
        "captions of images to generate",
        has=('"caption"',),
        columns=("id", "caption"),
    ),
    Known(
        JSON,
        "edits of MagicBrush; `visualjudge import outputs --task generation_editing` "
        "reads a table of them, with scores",
        has=('"instruction"', '"output"', '"input"'),
    ),
    Known(
        r"[^/]+/metadata\.jsonl",
        "prompts of GenEval; `visualjudge adopt` reads the results, a row each",
        columns=("tag", "include", "prompt"),
    ),
    Known(
        JSON,
        "scores of VIEScore, an object for each image; `visualjudge adopt` reads a row "
        "for each, with the columns item, model, score, truth",
        has=('"reasoning"', '"score"'),
        line=r"\{",
    ),
    # logs of tools
    Known(r"[^/]+\.eval", "a log of Inspect", ADOPT),
    Known(JSON, "a log of Inspect", ADOPT, has=('"eval"', '"samples"')),
    Known(
        r"[^/]+\.jsonl",
        "samples of lmms-eval",
        ADOPT,
        columns=("doc_id", "filtered_resps"),
    ),
    Known(JSON, "results of promptfoo", ADOPT, has=('"evalId"', '"results"')),
    Known(
        r"[^/]+\.jsonl",
        "results of promptfoo",
        ADOPT,
        columns=("promptidx", "testidx", "provider"),
    ),
    Known(
        r"[^/]+\.jsonl",
        "results of visualjudge pipeline",
        ADOPT,
        columns=("key", "results"),
    ),
    Known(
        r"[^/]+\.jsonl",
        "replies of a batch; `visualjudge adopt` reads a row for each, with the columns "
        "item, reply, truth",
        columns=("custom_id", "response"),
    ),
    Known(
        TABLE,
        "means of OpenCompass, which hold no verdicts; its predictions do: write a row "
        "for each, with the columns item, reply, truth, for visualjudge adopt",
        columns=("dataset", "version", "metric", "mode"),
    ),
    Known(
        JSON,
        "a table of Weights & Biases; export it as CSV",
        has=('"columns"', '"ncols"'),
    ),
    # tables
    Known(
        TABLE,
        "votes of people in an arena, as one judge",
        "adopt PATH --judge people --out study",
        columns=("model_a", "model_b", "winner", "judge"),
        has=("arena_user",),
    ),
    Known(
        TABLE,
        "objects of images; `visualjudge import hugging-face` reads Parquet "
        "(Dataset.to_parquet)",
        columns=("objects",),
    ),
    Known(
        TABLE,
        "replies to multiple-choice questions",
        "mmbench eval PATHS --data DATA.tsv",
        columns=("index", "prediction"),
    ),
    Known(TABLE, "ratings of people", "agreement PATHS", columns=("rater",)),
    Known(
        TABLE,
        "multiple-choice questions",
        "mmbench infer PATH --model MODEL --out pred.xlsx",
        columns=("question", "answer", "image"),
    ),
    Known(
        TABLE,
        "answers of people from Mechanical Turk",
        "agreement PATH --column item=HITId --column rater=WorkerId --column "
        "score=ANSWER",
        columns=("hitid", "workerid"),
        line=r'[^\n]*?"?(?P<ANSWER>Answer\.[^",\n]+)',
    ),
    Known(
        TABLE,
        "answers of people from a form, a row for each person; `visualjudge agreement` "
        "reads a column for each person: in Python, table = polars.read_csv('PATH'), "
        "then table.drop('Timestamp').transpose(include_header=True, "
        "header_name='item').write_csv('ratings.csv')",
        columns=("timestamp",),
    ),
    *(
        Known(
            TABLE,
            f"pairs of images, a row for each{PAIRS}; of a judge's, visualjudge adopt "
            f"--out study --column item=prompt --column verdict={column} PATH",
            columns=("prompt", image, column),
        )
        for image in ("image_a", "image_1", "image_0", "image1", "left")
        for column in ("winner", "preference", "choice", "label", "vote")
    ),
    Known(
        r"[^/]+\.parquet",
        f"pairs of images, a row for each{PAIRS}",
        has=("jpg_0", "jpg_1"),
    ),
    *(
        Known(TABLE, f"lists of images{PAIRS}", columns=("prompt", column))
        for column in ("images", "image_path", "image_paths", "generations")
    ),
    Known(
        JSON,
        f"lists of images{PAIRS}",
        has=('"prompt"', '"images"', "rank"),
        line=r"\{",
    ),
    Known(
        JSON,
        "conditions and lists of the images made of each; `visualjudge import outputs "
        "--task generation_controllable` reads a row for each image, with the columns "
        "output, control, prompt, source, score",
        columns=("condition_type", "files"),
    ),
    Known(
        TABLE,
        "masks of expressions that a model found; `visualjudge import referring` reads "
        "ground truth, rows of image, expression, segmentation, and these as --pred",
        columns=("expression", "predicted_mask"),
    ),
    Known(
        JSON,
        "expressions and boxes of the regions in an image",
        "import referring --gt PATH --images FOLDER --boxes --out data",
        has=('"objects"', '"expressions"', '"bbox"'),
    ),
    Known(
        JSON,
        "expressions of RefCOCO without regions; `visualjudge import referring` reads "
        "refs(unc).p or refs(google).p with instances.json",
        has=('"sent"', '"ref_id"'),
    ),
    *(
        Known(SHEET, f"{text} in a table{ARRAYS}", columns=columns)
        for text, columns in (
            ("boxes or masks", ("predictionstring",)),
            ("masks", ("encodedpixels",)),
            ("boxes", ("bbox",)),
            ("boxes", ("xmin", "xmax")),
            ("boxes", ("x1", "x2")),
            ("boxes", ("x_min", "x_max")),
        )
    ),
    # data in other containers
    Known(
        r"[^/]+\.parquet",
        "Parquet files of Hugging Face",
        "import hugging-face --task object_detection --gt FOLDER --out data",
        has=("objects",),
    ),
    Known(
        r"dataset_info\.json",
        "a data set of Hugging Face",
        "import hugging-face --task object_detection --gt FOLDER --out data",
        has=('"objects"',),
    ),
    Known(
        r"dataset_info\.json",
        "a data set of Hugging Face without a column of objects; write it as Parquet "
        "(Dataset.to_parquet) for visualjudge adopt, if it has verdicts",
        has=('"features"',),
    ),
    *(row for row in IMAGES_OF_ROWS if "output" in row.columns),
    *(row for row in OUTPUTS if "output" in row.columns),
    Known(
        TABLE,
        "verdicts: a table with the columns COLUMNS",
        "adopt PATH --out study",
        verdicts=True,
    ),
    *(row for row in OUTPUTS if "file_name" in row.columns),
    *(row for row in IMAGES_OF_ROWS[:-1] if "output" not in row.columns),
    Known(
        TABLE,
        "conditions of images to make; of those that models made, `visualjudge import "
        "outputs --task generation_controllable` reads a table with the columns "
        "output, control, prompt, source, score",
        columns=("condition", "prompt"),
    ),
    IMAGES_OF_ROWS[-1],
)
"""What others write, the surest first: a file is of the first kind that fits."""

LAST = (
    TABLE_OF_CLASSES,
    Known(
        TABLE,
        "numbers in columns; if each is a model, visualjudge reads a row for each score: "
        "in Python, polars.read_csv('PATH').unpivot(index='INDEX', "
        "variable_name='source', value_name='score').write_csv('rows.csv')",
        line=r'"?(?P<INDEX>[^",\t]*)"?[,\t][^\n]*\n[^,\t\n]*([,\t]-?\d*\.?\d+){2,}\s',
    ),
    *(
        Known(
            name,
            "a table with the columns COLUMNS; of verdicts or scores of a judge: "
            "visualjudge adopt with --column item=NAME --column verdict=NAME --column "
            "truth=NAME",
            line=line,
        )
        for name, line in ((JSON, r"\["), (SHEET, ""))
    ),
    Known(
        r"[^/]+\.parquet",
        "a table in Parquet; of verdicts, visualjudge adopt PATH --out study",
    ),
    Known(r"[^/]+\.(zip|tar|tgz|gz|7z)", "an archive; unpack it"),
    Known(
        r"[^/]+\.(mat|h5|hdf5|pkl|pickle|pth|pt|tfrecord|mdb)",
        f"arrays or objects of another program{ARRAYS}",
    ),
    Known(
        r"[^/]+\.(mp4|avi|mov|mkv|webm)",
        "a video; its frames are images (ffmpeg -i PATH %06d.png)",
    ),
)
"""What is known only if it is nothing else."""

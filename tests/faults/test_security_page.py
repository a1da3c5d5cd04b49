"""docs/security.md: each row of its tables and each sentence of its guarantees has a test, named
here.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import orjson
import pytest

from visualjudge.apps.mmbench import reply_files, table
from visualjudge.apps.pipelines import rows
from visualjudge.apps.published import prompts
from visualjudge.clients import concurrency, image_download, remote_client, reply_bounds, retry
from visualjudge.clients.batch import batched_client
from visualjudge.core import (
    confined_paths,
    image_storage,
    jsons,
    parquet_files,
    yamls,
)
from visualjudge.data import importing, record_checks as record_fields, record_scan
from visualjudge.dataset import parquet_form
from visualjudge.formats import voc
from visualjudge.judges import bounded_reading
from visualjudge.runs import journal
from visualjudge.runs.batch import submitting
from visualjudge.vision import fields
from visualjudge.vision.raster import arrays, images, limits as raster
from visualjudge.vision.scoring import close_boxes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/security.md").read_text("utf-8")

CONFINE, RUNS, STRANGERS = (
    "core/test_confined_paths",
    "faults/test_hostile_runs",
    "faults/test_strangers_datasets",
)
REPLIES, LIES, BAD = (
    "faults/test_reply_faults",
    "faults/test_lying_batches",
    "batch/test_one_bad_batch",
)
CACHE, PEOPLE, SAFETY = "clients/test_client_wrappers", "studio/test_people", "studio/test_safety"
API, STARVING, FILES = (
    "clients/test_api_client",
    "faults/test_starving",
)
RECORDS, KINDS, PIPELINES = (
    "faults/test_malicious_records",
    "faults/test_kinds_of_values",
    "apps/pipelines/test_pipelines",
)
DOWNLOAD, IMAGES, SHAPES = (
    "clients/test_image_download",
    "vision/raster/test_images",
    "formats/test_shape_files",
)
OUTSIDE = f"{RUNS}.test_nothing_outside_a_hostile_folder_is_read_or_written"
HOSTILE_FILES = f"{FILES}.test_no_hostile_column_takes_much_or_ends_in_a_traceback"
NO_CASE = f"{RECORDS}.test_no_case_ends_a_build"
LIED_TO = f"{LIES}.test_other_batches_replies_all_reach_the_run"
EVERY_FAULT = f"{REPLIES}.test_every_fault_is_a_reply_or_a_typed_failure_that_can_be_written"
STARVED = f"{STARVING}.test_no_command_leaves_half_a_file_or_a_traceback"

INPUTS = {
    "command line, configuration, environment, prompt folders, plug-ins": [
        "plugins/test_registry.test_prompt_folders_add_parts_and_replace_none"
    ],
    "data folders, datasets, images, arrays, tables of rows, run folders": [
        NO_CASE,
        HOSTILE_FILES,
        OUTSIDE,
    ],
    "servers that are asked, servers that images are fetched from": [
        EVERY_FAULT,
        LIED_TO,
        f"{DOWNLOAD}.test_a_network_fault_is_one_line",
    ],
}
FOLDERS = {
    "data folder, dataset": [
        f"{CONFINE}.test_a_file_inside_is_found_also_over_a_link_that_stays_inside",
        f"{CONFINE}.test_any_other_name_is_refused",
        "data/test_stated_paths.test_no_importer_follows_a_path_out_of_its_folder",
    ],
    "run (`RUN`)": [
        f"{STRANGERS}.test_a_run_cannot_name_a_dataset_whose_questions_it_does_not_know",
        f"{STRANGERS}.test_no_other_machine_is_asked_because_a_run_names_it",
        f"{RUNS}.test_no_key_goes_to_a_server_that_only_a_folder_names",
        OUTSIDE,
    ],
    "batches of a run (`RUN/batches`)": [
        "batch/test_batches.test_status_fetch_and_cancel",
        f"{RUNS}.test_only_files_of_the_runs_own_parts_are_removed",
        OUTSIDE,
    ],
    "study of people (`--people`)": [
        f"{PEOPLE}.test_a_restart_goes_on_with_the_same_question",
        f"{PEOPLE}.test_a_link_in_the_folder_of_a_study_is_refused",
        f"{PEOPLE}.test_a_row_of_a_study_that_no_study_wrote_is_one_line",
    ],
    "exchange of batches (`--batch-folder`)": [
        "batch/test_batches.test_batches_are_exchanged_as_files",
        f"{RUNS}.test_a_batch_folder_keeps_what_no_part_of_the_run_made",
    ],
    "reply cache (`--cache-dir`)": [
        f"{CACHE}.test_a_second_asking_costs_nothing_and_says_so",
        f"{CACHE}.test_a_foreign_or_torn_entry_is_written_anew",
        HOSTILE_FILES,
    ],
    "your cache folder (`XDG_CACHE_HOME`)": [
        f"{PEOPLE}.test_tokens_stay_out_of_the_run_folder_and_survive_a_restart",
        f"{PEOPLE}.test_a_secret_that_others_can_read_or_that_is_no_secret_is_refused",
        "studio/test_selection.test_a_damaged_index_is_made_anew",
    ],
}
GUARANTEES = {
    "One bad reply costs one question.": [
        EVERY_FAULT,
        f"{REPLIES}.test_what_is_no_reply_is_a_failure_and_never_an_answer",
    ],
    "One bad record costs one record.": [NO_CASE, NO_CASE],
    "One bad batch costs one batch.": [
        LIED_TO,
        f"{BAD}.test_a_closed_batch_is_looked_at_before_it_is_paid_for_again",
        f"{BAD}.test_what_is_refused_as_too_much_is_queued_is_submitted_a_bounded_number_of_times",
    ],
    "Paths of a dataset, data folder or imported table stay in the folder that you named.": [
        f"{CONFINE}.test_any_other_name_is_refused",
        f"{CONFINE}.test_links_out_loops_devices_and_pipes_are_refused",
        f"{CONFINE}.test_nothing_is_written_over_a_link",
        f"{CONFINE}.test_the_blobs_of_a_hub_snapshot_are_at_home",
        f"{CONFINE}.test_an_import_that_is_told_so_reads_files_anywhere_but_no_devices",
    ],
    "Files of a run, a study or a batch are opened inside their folder.": [
        f"{PEOPLE}.test_a_link_in_the_folder_of_a_study_is_refused",
        OUTSIDE,
        f"{RUNS}.test_the_run_folder_itself_may_be_a_link",
        OUTSIDE,
        f"{RUNS}.test_only_files_of_the_runs_own_parts_are_removed",
    ],
    "A run's own path of its dataset is a hint.": [
        f"{STRANGERS}.test_a_run_cannot_name_a_dataset_whose_questions_it_does_not_know",
        f"{STRANGERS}.test_a_dataset_that_the_user_names_is_used_and_the_difference_is_told",
        f"{STRANGERS}.test_the_studio_shows_a_dataset_beside_a_run_only_where_the_run_knows_its_checksum",
    ],
    "A key goes only to servers that you name.": [
        f"{RUNS}.test_no_key_goes_to_a_server_that_only_a_folder_names",
        f"{RUNS}.test_a_server_that_the_user_names_or_trusts_is_asked",
        f"{RUNS}.test_the_servers_of_the_makers_need_no_confirmation",
        "studio/test_compare.test_a_copy_names_no_key_for_a_server_that_only_the_run_names",
    ],
    "Keys are in no file, log, cache entry or error.": [
        "runs/test_judge_dataset.test_no_key_is_in_any_file_of_a_run",
        f"{API}.test_a_key_that_the_server_repeats_is_masked_everywhere",
        LIED_TO,
        f"{PIPELINES}.test_a_key_in_another_field_is_refused_and_not_shown",
        f"{API}.test_secret_headers_are_masked_and_others_left_readable",
        f"{REPLIES}.test_a_redirect_is_followed_only_on_request_and_only_at_home",
    ],
    "The reply cache is yours.": [
        f"{CACHE}.test_an_entry_of_another_user_is_not_believed",
        f"{CACHE}.test_the_secret_is_of_the_user_alone",
        f"{CACHE}.test_an_entry_that_is_no_small_regular_file_is_asked_again",
        f"{CACHE}.test_a_secret_that_others_may_know_is_not_used",
        f"{CACHE}.test_an_entry_is_not_believed_in_the_place_of_another",
    ],
    "Nothing that is read is executed.": [
        "apps/published/test_own_prompts.test_a_script_that_holds_no_text_gives_none_and_is_not_executed",
        f"{SHAPES}.test_refcoco_pickle_is_read_and_runs_nothing",
        f"{IMAGES}.test_pickled_arrays_are_refused",
    ],
    "Nothing that is shown acts.": [
        "analysis/test_report.test_page_loads_nothing_and_escapes_everything",
        f"{SAFETY}.test_pages_escape_what_a_dataset_says",
        "analysis/test_report.test_html_of_a_judges_name_does_not_act_in_markdown",
        "faults/test_terminal.test_no_character_of_a_name_acts_on_the_terminal",
        "core/test_spreadsheets.test_formulas_become_text_and_numbers_stay",
    ],
    "The studio shows datasets on this machine only.": [
        f"{SAFETY}.test_names_of_this_machine_are_served",
        f"{SAFETY}.test_another_host_name_is_refused",
        f"{SAFETY}.test_nothing_but_the_images_of_questions_is_served",
        f"{PEOPLE}.test_without_the_raters_token_nothing_is_read_or_written",
    ],
    "Images behind URLs come from public addresses only.": [
        f"{DOWNLOAD}.test_loopback_is_refused_however_it_is_written",
        f"{DOWNLOAD}.test_an_address_is_checked_as_it_is_connected_to",
        f"{DOWNLOAD}.test_bytes_are_fetched_as_they_are",
    ],
    "Files are complete or absent.": [
        "core/test_atomic.test_failed_write_leaves_the_old_file_and_no_scratch",
        STARVED,
        f"{STARVING}.test_a_killed_command_goes_on_and_loses_and_doubles_nothing",
        STARVED,
        f"{PEOPLE}.test_what_was_answered_survives_kill_9",
    ],
    "Fields of the wrong type are refused when a file is read.": [
        f"{KINDS}.test_a_value_of_another_kind_is_one_line",
        f"{KINDS}.test_a_value_of_another_kind_is_one_line",
    ],
    "Scores that were not computed are refused.": [
        "data/test_doors.test_a_sample_without_truth_needs_a_score_from_0_to_10",
        "data/test_doors.test_a_sample_without_truth_needs_a_score_from_0_to_10",
        "core/test_plugin_guard.test_a_metric_that_fails_is_named",
    ],
}


def section(title: str) -> str:
    return re.split(r"^## ", PAGE, flags=re.MULTILINE)[
        [*re.findall(r"^## (.+)$", PAGE, re.MULTILINE)].index(title) + 1
    ]


def bullets() -> dict[str, int]:
    """The bold sentence of each guarantee, and how many sentences it has."""
    texts = [" ".join(text.split()) for text in section("Guarantees").split("\n- ")[1:]]
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text) for text in texts]
    return {
        re.match(r"\*\*(.+?)\*\*", text)[1]: len(re.findall(r"\.(?:\*\*)?(?= [A-Z`]|$)", text))  # type: ignore[index]
        for text in plain
    }


def first_cells(text: str) -> list[str]:
    return [
        line.split(" | ")[0].removeprefix("| ")
        for line in text.splitlines()
        if line.startswith("| ")
    ]


@cache
def functions_of(module: str) -> frozenset[str]:
    tree = ast.parse((ROOT / f"tests/{module}.py").read_text("utf-8"))
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_each_test_that_is_named_exists() -> None:
    named = {
        test
        for table in (INPUTS, FOLDERS, GUARANTEES)
        for tests in table.values()
        for test in tests
    }
    parts = [test.partition(".") for test in sorted(named)]
    assert [
        f"{module}.{name}" for module, _, name in parts if name not in functions_of(module)
    ] == []


def test_each_kind_of_input_and_folder_has_tests() -> None:
    rows = first_cells(section("Trust"))
    assert rows == ["Input", *INPUTS, "Folder", *FOLDERS]


def test_each_sentence_of_the_guarantees_has_a_test() -> None:
    sentences = bullets()
    assert [*GUARANTEES] == [*sentences]
    assert [name for name, tests in GUARANTEES.items() if len(tests) < sentences[name]] == []


def mib(size: int) -> str:
    """A whole number of MiB."""
    assert size % (1 << 20) == 0
    return f"{size >> 20} MiB"


PIXELS = raster.MOST_PIXELS
FORMAT_NAMES = {"WEBP": "WebP", "JPEG2000": "JPEG 2000"}
DEEPEST_REPLY = 1024
SAMPLES = PIXELS * raster.BYTES_PER_PIXEL
BOUNDS = {
    "body of a reply, compressed or not": [mib(reply_bounds.LARGEST_BODY)],
    "seconds for a call": [f"{remote_client.Server('http://host', 'base_url').timeout_s:.0f}"],
    "longest accepted `Retry-After`": [f"{retry.RetryPolicy().patience_s:.0f} s"],
    "redirects on the same host, where allowed": [f"{reply_bounds.MOST_REDIRECTS}"],
    "seconds for a file of a batch; its size; a line in it": [
        f"{reply_bounds.LONGEST_TRANSFER_S:,.0f}; {reply_bounds.LARGEST_DOWNLOAD >> 30} GiB; "
        f"{mib(journal.LONGEST_LINE)}"
    ],
    "pages of a server's list of batches": [f"{reply_bounds.MOST_PAGES:,}"],
    "failed status requests in a row before a batch is closed": [f"{submitting._LOOKS}"],
    "batches per request: failed ones; ones refused because too much is queued": [
        f"{batched_client.MOST_TRIES}; {batched_client.MOST_QUEUED}"
    ],
    "batches in a row that a server refuses to create": [f"{submitting._REFUSALS}"],
    "token count in a reply": ["10¹²" if reply_bounds.MOST_TOKENS == 10**12 else ""],
    "reply that is read on the event loop; in a separate process": [
        f"{bounded_reading.READ_AT_ONCE >> 10} Ki; {bounded_reading.LONGEST_READ >> 20} Mi "
        "characters and "
        f"{bounded_reading.READ_WITHIN_S:.0f} s"
    ],
    "image that is sent or fetched": [mib(reply_bounds.LARGEST_IMAGE_FILE)],
    "fetching an image": [
        f"{image_download.TIMEOUT_S:.0f} s, {image_download.MOST_HOPS} redirects"
    ],
    "pixels of an image, mask, map or array": [f"{PIXELS // 10**6} million"],
    "bytes they decode to": [
        f"{raster.BYTES_PER_PIXEL} for each",
        f"{SAMPLES // 3 // 10**6} million of 8-bit RGB, {SAMPLES // 4 // 10**6} of RGBA",
        f"{SAMPLES // 8 // 10**6} of 16-bit RGBA or of a depth map",
    ],
    "pixels of a WebP; of a JPEG 2000 image": [
        f"{PIXELS // raster.SLOWER['WEBP'] // 10**6}; "
        f"{PIXELS // raster.SLOWER['JPEG2000'] // 10**6} million"
    ],
    "pixels of a PPM in text or of an odd depth, and of a run-length BMP": [
        f"{raster.SLOWEST}th: {PIXELS // raster.SLOWEST // 10**6} million"
    ],
    "scans of a JPEG": [f"{raster.MOST_SCANS}"],
    "header of a PPM, PGM or PBM file, comments included": [
        f"{raster.LONGEST_NETPBM_HEADER:,} bytes"
    ],
    "formats of images": [
        ", ".join(FORMAT_NAMES.get(name, name) for name in images.FORMATS if name != "DIB")
    ],
    "arrays": [f"{arrays.MOST_AXES} axes, headers of {arrays._LONGEST_HEADER:,} bytes"],
    "polygons of a mask": [
        f"{raster.MOST_POINTS:,} points, {raster.LONGEST_OUTLINE // 10**6} million pixels",
        "coordinates of 10⁷" if raster.LARGEST_VERTEX == 1e7 else "",
    ],
    "boxes, keypoints and other numbers": [
        "10¹⁵" if raster.LARGEST_COORDINATE == fields.LARGEST_NUMBER == 1e15 else ""
    ],
    "boxes, masks or people of a prediction": [f"{raster.MOST_ITEMS:,}"],
    "pairs with the ground truth within an image and class: boxes near each other, "
    "masks that touch, people": [f"{close_boxes.MOST_PAIRS // 10**6} million"],
    "classes of interest on one image × its boxes or masks": [
        f"{importing.MOST_LOOKED_AT // 10**6} million"
    ],
    "row group of a Parquet file: its pages unpacked": [
        f"{mib(parquet_files.UNPACKED)}, or {parquet_files.RATIO} times"
    ],
    "row group of a Parquet file: values of all columns": [f"{parquet_files.MOST_VALUES:,}"],
    "footer of a Parquet file; its pages": [
        f"{mib(parquet_files.LONGEST_FOOTER)}; {parquet_files.MOST_PAGES:,}"
    ],
    f"texts of {parquet_form.ROWS_A_GROUP:,} questions in Parquet; shared texts count for "
    "each question": [mib(parquet_form.LARGEST_GROUP)],
    "row of a Parquet or Arrow table": [
        f"{mib(parquet_files.LARGEST_ROW)}; rows are read in parts of "
        f"{mib(parquet_files.BYTES_A_PART)}"
    ],
    "questions or verdicts in a Parquet file": ["one per byte of the file"],
    "record of a data folder, line of a `.jsonl` table or of ratings; row of `pipeline`": [
        f"{mib(jsons.LONGEST_RECORD)}; {mib(rows.LONGEST_LINE)}"
    ],
    "annotations in Parquet, converted to JSON": [
        f"{mib(record_scan.LARGEST_SPOOL)}, or {record_scan.SPOOL_RATIO} times"
    ],
    "index of the images of a dataset; shard; image in a shard": [
        f"{mib(image_storage.LARGEST_INDEX)}; "
        f"{mib(image_storage.SHARD_BYTES + image_storage.LARGEST_IMAGE)}; "
        f"{mib(image_storage.LARGEST_IMAGE)}"
    ],
    "entry of the reply cache": [mib(reply_bounds.LARGEST_BODY)],
    "`dataset.json` and the index of shards; `run.json`; line of a run's verdicts": [
        f"{mib(jsons.LARGEST_META)}; {mib(jsons.LARGEST_MANIFEST)}; {mib(journal.LONGEST_LINE)}"
    ],
    "texts of a record; labels; identifiers": [
        f"{record_fields.LONGEST_TEXT:,} characters; {fields.LONGEST_LABEL} characters",
        f"; {record_fields.LONGEST_NAME} bytes",
    ],
    "depth of JSON in files; in replies": [f"{jsons.DEEPEST_JSON}; {DEEPEST_REPLY:,} levels"],
    "YAML": [
        f"{mib(yamls.LARGEST_YAML)}, {yamls.DEEPEST_YAML} levels, {yamls.MOST_NODES:,} values"
    ],
    "line of an MMBench table; record with quotes": [
        f"{mib(table.LONGEST_LINE)}; {mib(table.LARGEST_QUOTED)}"
    ],
    "workbook (`.xlsx`)": [
        f"{mib(reply_files.LARGEST_WORKBOOK)} unpacked, {reply_files.MOST_ROWS:,} rows, "
        f"{reply_files.MOST_COLUMNS} columns"
    ],
    "VOC annotation; edited images of a pipeline row": [
        f"{mib(voc.LARGEST_XML)}; {rows.MOST_IMAGES}"
    ],
    "benchmark script that contains its prompts": [mib(prompts.LARGEST)],
    "paths in data": [f"{confined_paths.LONGEST_PATH:,} characters"],
    "connections": [f"minus {concurrency.RESERVED}"],
}


def test_each_bound_has_a_row_here() -> None:
    assert first_cells(section("Bounds")) == ["What", *BOUNDS]


@pytest.mark.parametrize("row", BOUNDS)
def test_a_bound_is_the_one_in_the_code(row: str) -> None:
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {row} |"))
    assert [part for part in BOUNDS[row] if not part or part not in line.split(" | ")[1]] == []


def test_replies_are_read_to_the_stated_depth() -> None:
    assert orjson.loads("[" * DEEPEST_REPLY + "]" * DEEPEST_REPLY)
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads("[" * (DEEPEST_REPLY + 1) + "]" * (DEEPEST_REPLY + 1))

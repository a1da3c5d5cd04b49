"""docs/security.md: each row of its tables and each sentence of its guarantees has a test, named here."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from visualjudge.clients import download, limits, retry, wire
from visualjudge.core import confine, jsons, yamls
from visualjudge.runs import blocks
from visualjudge.vision.raster import limits as raster
from visualjudge.vision.scoring import close_boxes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/security.md").read_text("utf-8")

CONFINE, RUNS, STRANGERS = "core/test_confine", "faults/test_hostile_runs", "faults/test_strangers_datasets"
REPLIES, LIES, BAD = "faults/test_reply_faults", "faults/test_lying_batches", "batch/test_one_bad_batch"
CACHE, PEOPLE, SAFETY = "clients/test_client_wrappers", "studio/test_people", "studio/test_safety"
API, STARVING, FILES = "clients/test_api_client", "faults/test_starving", "faults/test_hostile_columns"
RECORDS, KINDS, PIPELINES = (
    "faults/test_malicious_records",
    "faults/test_kinds_of_values",
    "apps/pipelines/test_pipelines",
)
DOWNLOAD, IMAGES, SHAPES = "clients/test_download", "vision/raster/test_images", "formats/test_shape_files"
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
    "data folders, datasets, images, arrays, tables of rows, run folders": [NO_CASE, HOSTILE_FILES, OUTSIDE],
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
        "runs/test_judging.test_no_key_is_in_any_file_of_a_run",
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
    "The studio answers only this machine.": [
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
        "core/test_guarded.test_a_metric_that_fails_is_named",
    ],
}


def section(title: str) -> str:
    return re.split(r"^## ", PAGE, flags=re.MULTILINE)[[*re.findall(r"^## (.+)$", PAGE, re.MULTILINE)].index(title) + 1]


def bullets() -> dict[str, int]:
    """The bold sentence of each guarantee, and how many sentences it has."""
    texts = [" ".join(text.split()) for text in section("Guarantees").split("\n- ")[1:]]
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text) for text in texts]
    return {
        re.match(r"\*\*(.+?)\*\*", text)[1]: len(re.findall(r"\.(?:\*\*)?(?= [A-Z`]|$)", text))  # type: ignore[index]
        for text in plain
    }


def first_cells(text: str) -> list[str]:
    return [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if line.startswith("| ")]


@cache
def functions_of(module: str) -> frozenset[str]:
    tree = ast.parse((ROOT / f"tests/{module}.py").read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_each_test_that_is_named_exists() -> None:
    named = {test for table in (INPUTS, FOLDERS, GUARANTEES) for tests in table.values() for test in tests}
    parts = [test.partition(".") for test in sorted(named)]
    assert [f"{module}.{name}" for module, _, name in parts if name not in functions_of(module)] == []


def test_each_kind_of_input_and_folder_has_tests() -> None:
    rows = first_cells(section("Trust"))
    assert rows == ["Input", *INPUTS, "Folder", *FOLDERS]


def test_each_sentence_of_the_guarantees_has_a_test() -> None:
    sentences = bullets()
    assert [*GUARANTEES] == [*sentences]
    assert [name for name, tests in GUARANTEES.items() if len(tests) < sentences[name]] == []


BOUNDS = {
    "body of a reply, compressed or not": f"{limits.LARGEST_BODY >> 20} MiB",
    "longest accepted `Retry-After`": f"{retry.RetryPolicy().patience_s:.0f} s",
    "redirects on the same host, where allowed": f"{wire.MOST_REDIRECTS}",
    "fetching an image": f"{download.MOST_HOPS} redirects",
    "pixels of an image, mask, map or array": f"{raster.MOST_PIXELS // 10**6} million",
    "polygons of a mask": f"{raster.MOST_POINTS:,} points",
    "boxes, masks or people of a prediction": f"{raster.MOST_ITEMS:,}",
    "pairs with the ground truth, of one image, each within a class: boxes near each other, masks that touch, people": (
        f"{close_boxes.MOST_PAIRS // 10**6} million"
    ),
    "entry of the reply cache": f"{limits.LARGEST_BODY >> 20} MiB",
    "`dataset.json` and the index of shards; `run.json`; line of a run's verdicts": "; ".join(
        f"{size >> 20} MiB" for size in (jsons.LARGEST_META, jsons.LARGEST_MANIFEST, blocks.LONGEST_LINE)
    ),
    "record of a data folder, line of a `.jsonl` table or of ratings; row of `pipeline`": (
        f"{jsons.LONGEST_RECORD >> 20} MiB"
    ),
    "depth of JSON in files; in replies": f"{jsons.DEEPEST_JSON}; 1,024 levels",
    "YAML": f"{yamls.LARGEST_YAML >> 20} MiB, {yamls.DEEPEST_YAML} levels, {yamls.MOST_NODES:,} values",
    "paths in data": f"{confine.LONGEST_PATH:,} characters",
}


@pytest.mark.parametrize("row", BOUNDS)
def test_a_bound_is_the_one_in_the_code(row: str) -> None:
    cells = next(line for line in PAGE.splitlines() if line.startswith(f"| {row} |")).split(" | ")
    assert BOUNDS[row] in cells[1]

"""Asking: journalled, resumable, failures left out of the workbook and named."""

from __future__ import annotations

import asyncio
import json

import pytest
from tables import image, row, write

from scripted_client import ScriptedClient
from visualjudge.apps.mmbench.ask_model import infer
from visualjudge.apps.mmbench.evaluate import evaluate
from visualjudge.apps.mmbench.llm_matcher import match, unread
from visualjudge.apps.mmbench.question_prompt import (
    choice_template,
    prompt_text,
)
from visualjudge.apps.mmbench.reply_files import read_predictions
from visualjudge.apps.mmbench.table import read_table
from visualjudge.clients.base import ImagePart, Reply, TextPart
from visualjudge.core.errors import ApiError, UsageError
from visualjudge.runs.budget import Budget, Prices
from visualjudge.runs.progress_display import spent_in_all


def priced():
    return Budget(prices=Prices(1.0, 1.0))


def answer(request):
    """The index in the question, as the reply."""
    return request.parts[1].text.split("(")[1].split(")")[0]


def ask(tmp_path, client, rows=3, **options):
    table = read_table(
        write(tmp_path / "t.tsv", [row(i) for i in range(1, rows + 1)])
    )
    book = tmp_path / "p.xlsx"
    report = asyncio.run(
        infer(table, table.rows, client, choice_template(), book, **options)
    )
    return table, book, report


def test_each_row_is_one_user_message_of_image_and_prompt(tmp_path):
    client = ScriptedClient(["A"])
    table, _, _ = ask(tmp_path, client)
    assert sorted(r.parts[1].text for r in client.requests) == [
        prompt_text(r, choice_template()) for r in table.rows
    ]
    assert all(
        isinstance(r.parts[0], ImagePart) and isinstance(r.parts[1], TextPart)
        for r in client.requests
    )
    assert not any(r.system for r in client.requests)
    assert client.closed


def test_workbook_and_journal_hold_the_same_replies(tmp_path):
    _, book, report = ask(
        tmp_path, ScriptedClient(lambda request, _: answer(request))
    )
    assert (report.replied, report.missing) == (3, 0)
    assert (
        read_predictions(book)[0]
        == read_predictions(book.with_suffix(".jsonl"))[0]
        == {1: "1", 2: "2", 3: "3"}
    )


def test_failed_row_is_left_out_of_the_workbook_and_asked_again_on_resume(
    tmp_path,
):
    def flaky(request, _):
        return (
            ApiError(500, "no") if answer(request) == "2" else answer(request)
        )

    _, book, report = ask(tmp_path, ScriptedClient(flaky))
    assert (report.replied, report.missing, dict(report.progress.causes)) == (
        2,
        1,
        {"HTTP 500": 1},
    )
    assert sorted(read_predictions(book)[0]) == [1, 3]
    second = ScriptedClient(lambda request, _: answer(request))
    _, _, report = ask(tmp_path, second, resume=True)
    assert [answer(request) for request in second.requests] == ["2"]
    assert (report.replied, report.missing) == (3, 0)


def test_a_reply_out_of_the_cache_costs_nothing(tmp_path):
    usage = {"prompt_tokens": 10, "completion_tokens": 1}
    for folder, said in (
        ("one", Reply("A", usage=usage)),
        ("two", Reply("A", usage=usage, cached=True)),
    ):
        (tmp_path / folder).mkdir()
        _, _, report = ask(tmp_path / folder, ScriptedClient([said]))
        spent = report.progress.budget.calls, report.progress.budget.tokens
        assert spent == ((3, 33) if folder == "one" else (0, 0))


def test_what_all_invocations_spent_is_stated(tmp_path):
    """A cached reply costs nothing, a reply that could not be used does, and so does a
    killed invocation.
    """
    usage = {"prompt_tokens": 10, "completion_tokens": 1}
    failed = ApiError(500, "no")
    failed.usage = {"prompt_tokens": 5}
    said = {
        "1": Reply("A", usage=usage),
        "2": Reply("A", usage=usage, cached=True),
        "3": failed,
    }
    _, book, report = ask(
        tmp_path,
        ScriptedClient(lambda request, _: said[answer(request)]),
        budget=priced(),
    )
    assert report.total.tokens == 16
    manifest = json.loads(book.with_suffix(".run.json").read_text())
    assert manifest["total"] == {
        "tokens_in": 15,
        "tokens_out": 1,
        "tokens_thinking": 0,
        "cost": 0.000016,
    }
    book.with_suffix(".run.json").write_text(
        json.dumps(
            {**manifest, "total": {"tokens_in": 0, "tokens_out": 0, "cost": 0}}
        )
    )
    said["3"] = Reply("A", usage=usage)
    again = ScriptedClient(lambda request, _: said[answer(request)])
    _, book, report = ask(tmp_path, again, resume=True, budget=priced())
    assert (report.total.tokens, report.progress.budget.tokens) == (27, 11)
    assert (
        json.loads(book.with_suffix(".run.json").read_text())["total"]["cost"]
        == 0.000027
    )
    told = spent_in_all(report.progress, report.total)
    assert (
        told
        == "27 tokens, cost 2.7e-05; this time 1 call, 11 tokens, cost 1.1e-05"
    )


def test_second_run_without_resume_is_refused(tmp_path):
    ask(tmp_path, ScriptedClient(["A"]))
    with pytest.raises(UsageError, match="`resume`"):
        ask(tmp_path, ScriptedClient(["A"]))


def test_resume_with_another_model_is_refused(tmp_path):
    ask(tmp_path, ScriptedClient(["A"]))
    with pytest.raises(UsageError, match="client"):
        ask(tmp_path, ScriptedClient(["A"], model_name="other"), resume=True)


def test_resume_with_another_table_is_refused(tmp_path):
    ask(tmp_path, ScriptedClient(["A"]))
    with pytest.raises(UsageError, match="questions"):
        ask(tmp_path, ScriptedClient(["A"]), rows=4, resume=True)


def test_cut_reply_is_whole_in_the_journal(tmp_path):
    _, book, report = ask(tmp_path, ScriptedClient(["y" * 40_000]), rows=1)
    assert report.cut == 1
    assert (
        json.loads(book.with_suffix(".jsonl").read_text())["prediction"]
        == "y" * 40_000
    )


def test_half_a_surrogate_pair_does_not_end_the_run(tmp_path):
    _, book, _ = ask(tmp_path, ScriptedClient(["A \ud83d"]), rows=1)
    assert read_predictions(book.with_suffix(".jsonl"))[0] == {1: "A \ufffd"}


def test_reply_cut_by_the_token_limit_says_so(tmp_path):
    _, book, report = ask(
        tmp_path,
        ScriptedClient([Reply("The answer", finish_reason="length")]),
        rows=1,
    )
    assert dict(report.statuses) == {"truncated": 1}
    assert (
        json.loads(book.with_suffix(".jsonl").read_text())["status"]
        == "truncated"
    )


# ---------------------------------------------------------------- matcher


def matched(tmp_path, client, replies):
    table = read_table(write(tmp_path / "t.tsv", [row(i) for i in replies]))
    before = evaluate(table, replies)
    return table, asyncio.run(match(unread(before), client))


def test_matcher_is_asked_only_about_replies_that_could_not_be_read(tmp_path):
    client = ScriptedClient(["B"])
    table, letters = matched(
        tmp_path, client, {1: "A", 2: "the barking one", 3: ""}
    )
    assert letters == {2: "B"}
    assert "the barking one" in client.requests[0].parts[0].text
    after = evaluate(table, {1: "A", 2: "the barking one"}, matched=letters)
    assert [(line.extracted, line.why) for line in after.rows[:2]] == [
        ("A", "a letter alone"),
        ("B", "read by the matcher"),
    ]
    assert after.matched == 1


@pytest.mark.parametrize("said", ["Z", "none of them", "E", "A or B"])
def test_matcher_that_chooses_nothing_reads_nothing(tmp_path, said):
    assert matched(tmp_path, ScriptedClient([said]), {1: "the barking one"})[
        1
    ] == {1: None}


def test_replies_with_other_answers_than_the_table_are_told(tmp_path):
    table = read_table(write(tmp_path / "data.tsv", [row(1, answer="A")]))
    sheet = tmp_path / "pred.tsv"
    for answer, count in (("A", 0), ("B", 1)):
        sheet.write_text(
            f"index\tprediction\tanswer\n1\tA\t{answer}\n", "utf-8"
        )
        assert len(read_predictions(sheet, table)[1]) == count


def test_all_images_of_a_question_are_sent_in_order(tmp_path):
    cells = [image((200, 30, 30)), image((30, 200, 30))]
    table = read_table(write(tmp_path / "t.tsv", [row(1, image=str(cells))]))
    client = ScriptedClient(["A"])
    reference = choice_template()
    asyncio.run(
        infer(table, table.rows, client, reference, tmp_path / "p.xlsx")
    )
    *images, text = client.requests[0].parts
    assert [part.base64.decode() for part in images] == cells
    assert isinstance(text, TextPart)


@pytest.mark.parametrize(("options", "told"), [("ab", 1), ("12", 0)])
def test_numbers_as_replies_are_read_and_told_unless_options_are_numbers(
    tmp_path, options, told
):
    table = read_table(write(tmp_path / "data.tsv", [row(1, list(options))]))
    journal = tmp_path / "pred.jsonl"
    journal.write_text('{"index": 1, "prediction": 2}\n')
    replies, notes = read_predictions(journal, table)
    assert (replies, len(notes)) == ({1: "2"}, told)

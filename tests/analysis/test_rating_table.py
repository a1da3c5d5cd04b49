"""Ratings from files and VIEScore's folders; judges against people and the people's
ceiling."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats
from typer.testing import CliRunner

from visualjudge.analysis.figure_text import span
from visualjudge.analysis.people_agreement import agreement, pair_order
from visualjudge.analysis.plots.plot import Plot
from visualjudge.analysis.rating_table import COLUMNS, read_ratings
from visualjudge.analysis.report.agreement_page import (
    agreement_figure,
    html,
    sentences,
    tables_of,
)
from visualjudge.cli.main import app
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.seeding import rng_for


def long_table(items: int = 40, sources: int = 3) -> pl.DataFrame:
    rng = rng_for(0, "ratings")
    rows = []
    for i in range(items):
        for s in range(sources):
            true = rng.normal()
            rows += [
                (
                    f"i{i}",
                    f"s{s}",
                    rater,
                    "quality",
                    round(true + noise * rng.normal(), 1),
                )
                for rater, noise in RATERS
            ]
    return pl.DataFrame(
        rows,
        schema=["item", "source", "rater", "dimension", "score"],
        orient="row",
    )


RATERS = (("ann", 0.4), ("bob", 0.6), ("cat", 0.5), ("gpt", 0.9))


def test_judge_is_correlated_with_the_mean_of_people_per_source() -> None:
    table = long_table()
    row = next(r for r in agreement(table, ["gpt"]).rows if r.kind == "judge")
    wide = table.pivot("rater", index=["item", "source"], values="score")
    people = (
        wide.select(pl.mean_horizontal("ann", "bob", "cat"))
        .to_series()
        .to_numpy()
        .round(9)
    )
    rhos = []
    for s in range(3):
        here = (wide["source"] == f"s{s}").to_numpy()
        rhos.append(
            stats.spearmanr(wide["gpt"].to_numpy()[here], people[here])[0]
        )
    assert row.by_source == pytest.approx(rhos)
    assert row.spearman == pytest.approx(np.mean(rhos))
    assert row.spearman_ci95[0] < row.spearman < row.spearman_ci95[1]


def test_people_are_held_against_the_others_on_what_the_judge_rated() -> None:
    table = long_table().filter(
        ~((pl.col("rater") == "gpt") & (pl.col("source") == "s2"))
    )
    rows = agreement(table, ["gpt"]).rows
    person = next(r for r in rows if r.rater == "ann")
    assert [value is None for value in person.by_source] == [False, False, True]
    assert {r.kind for r in rows} == {"judge", "person", "ceiling"}


def test_order_of_sources_counts_a_tie_of_the_rater_as_half() -> None:
    told, alike = pair_order(
        np.array([[1.0, 1.0, 3.0]]), np.array([[1.0, 2.0, 2.0]])
    )
    assert told.tolist() == [2]
    assert alike.tolist() == [1.5]


def test_unknown_judge_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no such rater"):
        agreement(long_table(), ["claude"])


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_every_file_kind_reads_the_same(tmp_path: Path, suffix: str) -> None:
    table, path = long_table(5), tmp_path / f"ratings.{suffix}"
    {
        "csv": table.write_csv,
        "jsonl": table.write_ndjson,
        "parquet": table.write_parquet,
    }[suffix](path)
    read, problems = read_ratings(path)
    assert problems == []
    assert read.select(table.columns).equals(table)


def test_score_that_is_no_number_is_named_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(
        "item,source,rater,dimension,score\ni1,s,ann,q,good\ni2,s,ann,q,4\ni3,s,ann,q,\ni4,s,ann,q,nan\n"
    )
    read, problems = read_ratings(path)
    assert read["item"].to_list() == ["i2"]
    assert [str(p).split(": ")[1] for p in problems] == ["row 2", "row 5"]
    done = CliRunner().invoke(app, ["agreement", str(path)])
    assert done.exit_code == 1
    assert "row 2" in done.stderr


def test_missing_column_says_which(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("rater,stars\nb,1\n")
    with pytest.raises(DataError, match="no column item, score"):
        read_ratings(path)


@pytest.mark.parametrize("name", ["item", "question", "id"])
def test_ratings_of_one_thing_need_three_columns(
    tmp_path: Path, name: str
) -> None:
    """Neither a dummy source or dimension, nor a column called item."""
    path = tmp_path / "r.csv"
    path.write_text(
        f"{name},rater,score\na,anna,1\na,ben,1\nb,anna,2\nb,ben,3\n"
    )
    table, problems = read_ratings(path)
    assert not problems and table["item"].to_list() == ["a", "a", "b", "b"]
    lines = path.with_suffix(".jsonl")
    lines.write_text(f'{{"{name}": "a", "rater": "anna", "score": 1}}\n')
    assert read_ratings(lines)[0]["item"].to_list() == ["a"]
    (row,) = agreement(table).alpha
    assert row.same == 0.5


def test_votes_are_read_from_rows_as_from_columns(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text(
        "item,rater,score\n1,anna,A\n1,ben,tie\n2,anna,B\n2,ben,A\n"
    )
    columns = tmp_path / "columns.csv"
    columns.write_text("item,anna,ben\n1,A,tie\n2,B,A\n")
    long, wide = (
        read_ratings(path)[0].sort("item", "rater") for path in (rows, columns)
    )
    assert long["score"].to_list() == wide["score"].to_list() == [1, 0.5, 0, 1]


def test_alpha_is_of_all_that_people_rated(tmp_path: Path) -> None:
    table = long_table()
    part = table.filter(
        ~((pl.col("rater") == "gpt") & (pl.col("source") == "s2"))
    )
    (both,), (whole,) = (agreement(t, ["gpt"]).alpha for t in (part, table))
    assert both == whole and both.units == 120 and both.ci95 is not None
    part.write_csv(tmp_path / "r.csv")
    call = ["agreement", str(tmp_path / "r.csv")]
    judged = CliRunner().invoke(app, [*call, "--judge", "gpt"])
    value = f"α (ordinal) {both.alpha or 0.0:.2f}, 95 %: {span(both.ci95)}"
    assert value in judged.stdout
    # without --judge it is one of the people, which is told
    assert "cat and gpt" in CliRunner().invoke(app, call).stdout


def test_items_of_one_image_count_as_one_case(tmp_path: Path) -> None:
    """Every item twice is no more evidence where the file says that both are of one
    image."""
    table = long_table()
    copy = table.with_columns(
        item=pl.col("item") + "-again", image=pl.col("item")
    )
    pl.concat([table.with_columns(image=pl.col("item")), copy]).write_csv(
        tmp_path / "r.csv"
    )
    once = agreement(table, ["gpt"], epsilon=0.2)
    twice = agreement(read_ratings(tmp_path / "r.csv")[0], ["gpt"], epsilon=0.2)
    assert once.alpha[0].ci95 is not None
    assert twice.alpha[0].ci95 == pytest.approx(once.alpha[0].ci95, abs=0.01)
    assert twice.alt_test[0].images == once.alt_test[0].images == 40


def test_the_alternative_annotator_test_names_both_forms_and_refuses_other_scales(
    tmp_path: Path,
) -> None:
    table = long_table()
    people = table.filter(pl.col("rater") != "gpt")
    judge = people.filter(pl.col("rater") == "ann").with_columns(
        rater=pl.lit("gpt")
    )
    path = tmp_path / "r.csv"
    pl.concat([people, judge]).write_csv(path)
    said = (
        CliRunner()
        .invoke(
            app, ["agreement", str(path), "--judge", "gpt", "--alt-test", "0.2"]
        )
        .stdout
    )
    assert "clustered by image" in said and "ω as published" in said
    pl.concat(
        [people, judge.with_columns(score=pl.col("score") * 10)]
    ).write_csv(path)
    said = (
        CliRunner()
        .invoke(
            app, ["agreement", str(path), "--judge", "gpt", "--alt-test", "0.2"]
        )
        .stdout
    )
    assert "scores must be on one scale" in said
    done = CliRunner().invoke(
        app, ["agreement", str(path), "--judge", "gpt", "--alt-test", "1"]
    )
    assert done.exit_code == 2


def test_the_page_of_agreement_draws_the_table_s_figures(
    tmp_path: Path,
) -> None:
    table = long_table()
    result = agreement(
        pl.concat([table, table.with_columns(dimension=pl.lit("other"))]),
        ["gpt"],
    )
    figure = agreement_figure(result)
    assert isinstance(figure, Plot)
    told = {(row.dimension, row.kind): row for row in result.rows}
    rows = {
        (row[1], {"gpt": "judge"}.get(str(row[0]), "ceiling")): row[2:]
        for row in figure.rows
    }
    assert set(rows) == {
        (d, kind) for d in ("quality", "other") for kind in ("judge", "ceiling")
    }
    for key, found in rows.items():
        row = told[key]  # type: ignore[index]
        assert found == (
            row.spearman,
            *(row.spearman_ci95 or (None, None)),
            row.items,
            row.items,
        )
    ratings, page = tmp_path / "r.csv", tmp_path / "a.html"
    table.write_csv(ratings)
    done = CliRunner().invoke(
        app, ["agreement", str(ratings), "--judge", "gpt", "--out", str(page)]
    )
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert (
        'id="figure-agreement"' in text
        and "<script" not in text
        and "<td>gpt (judge)</td>" in text
    )


def test_choices_have_no_rank_correlation_in_the_table() -> None:
    scores = long_table()
    one = scores.filter(pl.col("source") == "s0")
    choices = one.with_columns(
        (pl.col("score") > 0).cast(pl.Float64),
        dimension=pl.lit("two_tasks/pairwise"),
    )
    (table, alphas) = tables_of(
        agreement(pl.concat([scores, choices]), ["gpt"])
    )
    rho = table.columns.index("ρ with people")
    same = table.columns.index("Same answer as a person")
    assert {(row[0], row[rho] == "–") for row in table.rows} == {
        ("quality", False),
        ("two tasks", True),
    }
    assert {(row[0], row[same] == "–") for row in table.rows} == {
        ("quality", True),
        ("two tasks", False),
    }
    assert [row[0] for row in alphas.rows] == ["quality", "two tasks/pairwise"]


def test_a_page_of_agreement_must_be_html(tmp_path: Path) -> None:
    ratings = tmp_path / "r.csv"
    long_table().write_csv(ratings)
    done = CliRunner().invoke(
        app,
        [
            "agreement",
            str(ratings),
            "--judge",
            "gpt",
            "--out",
            str(tmp_path / "a.pdf"),
        ],
    )
    assert isinstance(
        done.exception, UsageError
    ) and "--out must end in .html, got" in str(done.exception)


def test_a_column_of_votes_for_each_rater_is_read(tmp_path: Path) -> None:
    table = tmp_path / "votes.csv"
    table.write_text("item,image,anna,gpt\n1,x,A,b\n2,y,tie,A\n3,z,,who\n")
    read, problems = read_ratings(table)
    rows = {
        (row["item"], row["rater"]): row["score"]
        for row in read.iter_rows(named=True)
    }
    assert rows == {
        ("1", "anna"): 1,
        ("2", "anna"): 0.5,
        ("1", "gpt"): 0,
        ("2", "gpt"): 1,
    }
    assert set(read["image"]) == {"x", "y"}
    assert [str(problem).partition(": ")[2] for problem in problems] == [
        "row 4: gpt: must be A, B, tie or a number, got 'who'"
    ]


def test_numbers_that_may_be_options_and_repeated_ratings_are_told(
    tmp_path: Path,
) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("item,ann,ben\nq1,1,2\nq2,2,0\n", "utf-8")
    with pytest.warns(
        UserWarning, match="numbers are read as scores; if they are options"
    ):
        read_ratings(file)
    file.write_text(f"{','.join(COLUMNS)}\n" + "q1,x,ann,d,1\n" * 2, "utf-8")
    again = pl.concat(
        [read_ratings(file)[0], read_ratings(file)[0].with_columns(score=9.0)]
    )
    with pytest.warns(
        UserWarning, match="3 ratings repeat an item .* their mean counts"
    ):
        agreement(again)


def test_blanks_around_a_name_make_no_other_rater_and_no_other_item(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.csv"
    long_table().write_csv(path)
    found = agreement(read_ratings(path)[0], ["gpt"])
    lines = path.read_text().splitlines()
    blank = [
        ", ".join(line.split(",")) if k % 3 else line
        for k, line in enumerate(lines)
    ]
    path.write_text("\n".join(blank))
    assert agreement(read_ratings(path)[0], ["gpt"]).rows == found.rows


def test_ratings_of_which_none_is_a_number_are_refused_with_the_first(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.csv"
    long_table().with_columns(score=pl.lit("70%")).write_csv(path)
    with pytest.raises(
        DataError, match="row 2: score: must be a number, got '70%'"
    ):
        read_ratings(path)


def test_a_column_of_numbers_beside_votes_is_no_rater(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("item,ann,ben,age\ni1,A,0.5,31\ni2,b,1,32\n")
    table, problems = read_ratings(path)
    assert set(table["rater"]) == {"ann", "ben"} and len(problems) == 2


def test_one_dimension_has_one_alpha_in_the_sentence(tmp_path: Path) -> None:
    rows = [f"{k},s,{who},boxes,{k}" for k in range(6) for who in "ab"]
    lines = ["item,source,rater,dimension,score", *rows, ""]
    (tmp_path / "r.csv").write_text("\n".join(lines))
    table, _ = read_ratings(tmp_path / "r.csv")
    assert "Krippendorff’s α (ordinal) 1.00" in sentences(agreement(table))[0]


def test_a_judge_is_compared_with_one_person_in_the_sentence() -> None:
    result = agreement(long_table(), ["gpt"])
    rho = {row.rater: row.spearman or 0.0 for row in result.rows}
    assert rho["gpt"] < min(rho[name] for name in ("ann", "bob", "cat"))
    words = f"gpt agrees with people (ρ {rho['gpt']:.2f})"
    assert sentences(result)[0].startswith(words)
    assert "less than all 3 people" in sentences(result)[0]
    one = agreement(long_table().filter(pl.col("rater") != "bob"), ["gpt"])
    assert "all 2 people" in sentences(one)[0]
    alone = long_table().filter(pl.col("rater").is_in(["ann", "gpt"]))
    assert "than" not in sentences(agreement(alone, ["gpt"]))[0]


def test_a_judge_is_compared_with_the_others_of_each_person() -> None:
    """It errs more than ann and bob: beside the mean of both, which is less noisy than
    one of them, it looks better than each beside the other."""
    rng = rng_for(5, "people")
    quality = rng.normal(size=300)
    ratings = {
        who: quality + noise * rng.normal(size=300)
        for who, noise in {"ann": 1.0, "bob": 1.0, "gpt": 1.2}.items()
    }
    table = pl.concat(
        pl.DataFrame({"rater": who, "score": own}).with_row_index("item")
        for who, own in ratings.items()
    ).with_columns(
        pl.col("item").cast(pl.String),
        source=pl.lit("s"),
        dimension=pl.lit("d"),
    )
    rows = {row.rater: row for row in agreement(table, ["gpt"]).rows}
    apart = [
        stats.spearmanr(ratings["gpt"], ratings[who])[0]
        for who in ("ann", "bob")
    ]
    assert rows["gpt"].as_person == pytest.approx(np.mean(apart), abs=1e-9)
    assert rows["gpt"].spearman > rows["ann"].spearman > rows["gpt"].as_person
    assert "less than all 2 people" in sentences(agreement(table, ["gpt"]))[0]


def test_choices_are_compared_by_equal_answers_not_by_ranks(
    tmp_path: Path,
) -> None:
    path = tmp_path / "votes.csv"
    votes = ("1,A,A,B", "2,B,B,B", "3,A,B,A", "4,A,A,B", "5,B,B,A", "6,B,B,B")
    path.write_text("\n".join(("item,ann,bob,gpt", *votes)))
    result = agreement(read_ratings(path)[0], ["gpt"])
    same = {row.rater: row.same for row in result.rows}
    assert (same["gpt"], same["ann"]) == (5 / 12, 5 / 6)
    assert "41.7 %) less than all 2 people" in sentences(result)[0]
    (table,) = tables_of(result)
    assert not {"ρ with people"} & {*table.columns}
    best = agreement(read_ratings(path)[0], ["ann"])
    assert "more than all 2 people" in sentences(best)[0]
    assert {row.same for row in agreement(long_table(), ["gpt"]).rows} == {None}


def test_a_page_of_agreement_has_its_figure_for_a_paper() -> None:
    pytest.importorskip("vl_convert", reason="vl_convert is not installed")
    page = html(agreement(long_table(), ["gpt"]))
    for suffix, kind, begin in (
        ("pdf", "application/pdf", b"%PDF"),
        ("png", "image/png", b"\x89PNG"),
    ):
        link = (
            f'download="agreement.{suffix}" href="data:{kind};base64,([^"]+)"'
        )
        (data,) = re.findall(link, page)
        assert base64.b64decode(data).startswith(begin)


def test_columns_of_another_name_are_read_as_named(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("file,net,anna,ben\n1,flux,4,5\n2,sdxl,2,1\n", "utf-8")
    table, problems = read_ratings(path, {"item": "file", "source": "net"})
    assert not problems
    assert set(table["item"]) == {"1", "2"}
    assert set(table["source"]) == {"flux", "sdxl"}
    assert set(table["rater"]) == {"anna", "ben"}
    path.write_text("image,model,anna,ben\n1,flux,4,5\n2,sdxl,2,1\n", "utf-8")
    assert read_ratings(path)[0].equals(table)
    with pytest.raises(DataError, match="no column net"):
        read_ratings(path, {"source": "net"})
    with pytest.raises(UsageError, match="must name one of item"):
        read_ratings(path, {"itm": "image"})


def test_a_rater_against_the_others_is_told_and_no_figure_ends_in_status_1(
    tmp_path: Path,
) -> None:
    table = tmp_path / "ratings.csv"
    for said, told, status in (("{k}", 0, 0), ("{less}", 1, 0), ("5", 0, 1)):
        rows = [
            f"i{k},{rater},{score.format(k=k, less=9 - k)}"
            for k in range(10)
            for rater, score in (
                ("p1", "{k}" if status == 0 else "5"),
                ("gpt", said),
            )
        ]
        table.write_text("\n".join(["item,rater,score", *rows]))
        done = CliRunner().invoke(
            app, ["agreement", str(table), "--judge", "gpt"]
        )
        assert (done.output.count("reversed?"), done.exit_code) == (
            told,
            status,
        )


def test_all_who_count_as_people_are_named_and_who_guesses(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=60)
    raters = {name: truth + rng.normal(size=60) for name in ("ann", "ben")}
    raters |= {"judge2": truth, "dirk": rng.normal(size=60)}
    rows = [
        {"item": f"i{k:02}", "source": "s", "rater": name, "score": score}
        for name, scores in raters.items()
        for k, score in enumerate(scores.tolist())
    ]
    table = pl.DataFrame(rows).with_columns(dimension=pl.lit("ratings"))
    people, doubt = sentences(agreement(table))
    assert people.startswith("People: ann, ben, dirk and judge2;")
    assert "dirk" in doubt and "ann" not in doubt


COPIED: dict[str, tuple[Callable[[list[int]], list[float]], str | None]] = {
    "another person": (lambda first: [6 - n for n in first], None),
    "copy": (list, "ann, ben: equal in all 30"),
    "one score": (lambda first: [3] * len(first), "ben: 3 in all 30"),
    "another scale": (
        lambda first: [2 * n for n in first],
        "ben: up to 10, all",
    ),
    "99 for none": (
        lambda first: [99 if k % 9 == 4 else n for k, n in enumerate(first)],
        "ben: 99 in 3 of 30 rows, and 1 to 5 in the others",
    ),
    "-1 for none": (
        lambda first: [
            -1 if k % 9 == 4 else 1 + k % 5 for k, _ in enumerate(first)
        ],
        "ben: -1 in 3 of 30 rows, and 1 to 5 in the others",
    ),
    "0 for none": (
        lambda first: [0 if k % 9 == 4 else n for k, n in enumerate(first)],
        "ben: 0 in 3 of 30 ratings, all others from 1 on",
    ),
    "ages": (lambda first: [20 + n for n in first], "ben: up to 25, all"),
}


@pytest.mark.parametrize("case", COPIED)
def test_ratings_that_are_copied_or_on_another_scale_are_told(
    case: str, recwarn: pytest.WarningsRecorder
) -> None:
    other, told = COPIED[case]
    first = [1 + k * k % 5 for k in range(30)]
    scores = {"ann": first, "ben": other(first)}
    agreement(
        pl.DataFrame(
            [
                (str(k), "m", rater, "q", float(score))
                for rater, own in scores.items()
                for k, score in enumerate(own)
            ],
            [*COLUMNS],
            orient="row",
        )
    )
    texts = [str(row.message) for row in recwarn]
    assert bool(texts) == (told is not None)
    assert told is None or told in texts[0]


@pytest.mark.parametrize("shift", [0, 1])
def test_a_zero_of_all_raters_on_the_same_items_is_told(
    shift: int, recwarn: pytest.WarningsRecorder
) -> None:
    """Where 0 is a score, raters who differ elsewhere differ there too."""
    rows = [
        (str(k), "m", rater, "q", float(score))
        for n, rater in enumerate(("ann", "ben"))
        for k in range(30)
        for score in [0 if (k + n * shift) % 9 == 4 else 1 + (k * (n + 1)) % 5]
    ]
    agreement(pl.DataFrame(rows, [*COLUMNS], orient="row"))
    told = [
        "0 from all raters of 3 items" in str(row.message) for row in recwarn
    ]
    assert told == [True] * (not shift)


def test_means_among_items_and_raters_are_told(
    recwarn: pytest.WarningsRecorder,
) -> None:
    rows = [
        (item, "m", rater, "q", 1.0 + (k * (1 + n)) % 5)
        for n, rater in enumerate(("ann", "ben", "mean_score"))
        for k, item in enumerate(("means of transport", "b", "c", "Average"))
    ]
    agreement(pl.DataFrame(rows, [*COLUMNS], orient="row"))
    assert [str(row.message).split(";")[0] for row in recwarn] == [
        "Average: counts as an item",
        "mean_score: counts as a rater",
    ]


def test_a_rater_in_two_cases_is_told(recwarn: pytest.WarningsRecorder) -> None:
    names = ("ann", "Ann", "ben")
    agreement(
        pl.DataFrame(
            [
                (str(k), "m", name, "q", 1.0 + (k * (1 + n)) % 5)
                for n, name in enumerate(names)
                for k in range(20)
            ],
            [*COLUMNS],
            orient="row",
        )
    )
    assert ["Ann, ann" in str(row.message) for row in recwarn] == [True]

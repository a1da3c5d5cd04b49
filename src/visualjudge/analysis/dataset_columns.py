"""The columns of tables of a dataset (see :mod:`visualjudge.analysis.columns`)."""

from __future__ import annotations

from visualjudge.analysis import figure_text, figures as f
from visualjudge.analysis.figure_text import number, p_value
from visualjudge.analysis.table_layout import Column, Table, declared, figure

LEAK: Table[f.Leak] = Table(
    (
        Column("scope", lambda r: r.scope, "Questions", text=True),
        Column("rule", lambda r: r.rule, "Rule", figure_text.rule, text=True),
        Column("n", lambda r: r.share.n, "It applies to", lambda r: number(r.share.n)),
        Column("images", lambda r: r.share.images, "Images", lambda r: number(r.share.images)),
        *figure("accuracy", lambda r: r.share, "Right", ends="ci95"),
        Column("p", lambda r: r.p),
        Column("p_holm", lambda r: r.p_holm, "p (Holm)", lambda r: p_value(r.p_holm)),
        Column("flagged", lambda r: r.flagged),
        *declared(f.Leak),
    )
)

DATASET: Table[f.DatasetFacts] = Table(
    (
        Column("path", lambda d: d.path),
        Column("questions_sha256", lambda d: d.questions_sha256),
        Column("version", lambda d: d.version),
        Column("seed", lambda d: d.seed),
        Column("questions", lambda d: d.questions),
        Column("images", lambda d: d.images),
        Column("by_question_type", lambda d: d.by_question_type),
        Column("prompts", lambda d: list(d.prompts)),
        Column("asked", lambda d: d.asked),
        Column("images_asked", lambda d: d.images_asked),
        Column("probed", lambda d: d.probed),
        Column("where", lambda d: list(d.where)),
        *declared(f.DatasetFacts),
    )
)

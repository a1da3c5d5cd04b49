"""Plots for papers: each as SVG and CSV."""

from __future__ import annotations

from pathlib import Path

from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.plots.figure import LeftOut
from visualjudge.analysis.report.plots import every_plot
from visualjudge.core.atomic import write_text
from visualjudge.core.text_tables import markdown_text


def write_figures(analysis: Analysis, folder: Path) -> None:
    """Write every plot of the study and captions.md to ``folder``."""
    captions = ["# Captions", ""]
    for plot in every_plot(analysis):
        if isinstance(plot, LeftOut):
            captions.append(f"- **{plot.name}** is not drawn: {plot.reason}.")
            continue
        caption = markdown_text(f"{plot.finding}. {plot.caption} {plot.reading}")
        captions.append(f"- **{plot.name}**: {caption}")
        for kind in (".svg", ".csv"):
            plot.save(folder / f"{plot.name}{kind}")
    write_text(folder / "captions.md", "\n".join(captions) + "\n")

"""Output of the analysis: a self-contained page, Markdown for papers, tables for the
terminal."""

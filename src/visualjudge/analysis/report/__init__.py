"""The analysis for readers: a self-contained page, Markdown for papers, tables for the terminal."""

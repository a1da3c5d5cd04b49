"""Output of the analysis: the page (``page.py``), the card, the terminal, comparisons
of two judges, and files for papers. What is shown is computed in ``figures/`` and
``decisions/``.
"""

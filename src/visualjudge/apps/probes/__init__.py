"""Probes: questions whose answer is known without truth, to test what a judge must
ignore.

``kinds`` has the table of probes, ``probe_questions`` the questions that they start
from, ``question_edits`` what is changed, and ``build`` writes them. Results are in
``analysis/figures/probes.py``.
"""

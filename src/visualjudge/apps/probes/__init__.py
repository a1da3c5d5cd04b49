"""Probes: questions whose answer is known without truth, to test what a judge must
ignore.

``kinds`` has the table of probes, ``probe_questions`` the questions that they start
from, ``question_edits`` what is changed, and ``build`` writes them. Results are in
``analysis/figures/probes.py``.
"""

ABOUT = {
    "same_option": "a place, where both options are the same",
    "withheld": "an answer without the original that it depends on",
    "renamed": "names of the options that say nothing",
    "recoloured": "a white balance that all images share",
    "recompressed": "JPEG compression that all images share",
    "mirrored": "left and right of all images exchanged",
    "encoding": "another encoding of the same predictions",
    "confidence": "a confidence that the option states",
    "decimals": "more decimals of a stated confidence",
    "author": "the name of the option's author",
    "length": "a longer text that says nothing",
    "label": "an instruction in the option's label",
    "file_format": "the format of the option's file",
    "file_size": "the size of the option's file",
    "painted_instruction": "an instruction painted into the option's image",
    "bright": "brightness and strong colours",
    "tool": "what a tool says, right or wrong",
    "severity": "quality that falls step by step",
    "grey": "an answer over uniform grey",
    "other": "an answer over another photograph",
}
"""What each probe of ``kinds.py`` changes, by name, without importing them."""

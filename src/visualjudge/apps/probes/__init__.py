"""Probes: questions whose answer is known without truth, to test what a judge must
ignore.

``kinds`` has the table of probes, ``probe_questions`` the questions that they start
from, ``question_edits`` what is changed, and ``build`` writes them. Results are in
``analysis/figures/probes.py``.
"""

ABOUT = {
    "same_option": "both options are the same prediction",
    "withheld": "the original image is not shown, and the predictions are text",
    "renamed": "both options have meaningless names",
    "recoloured": "a warmer white balance of all images",
    "recompressed": "all images saved again as JPEG of quality 50",
    "mirrored": "all images mirrored",
    "encoding": "the same predictions in another encoding",
    "confidence": "one option states a confidence of 0.99, the other of 0.51",
    "decimals": "one option states a confidence of 0.8003, the other of 0.8",
    "author": "one option names its model GPT-5, the other names none",
    "length": "a longer text without content in one option",
    "label": "one option’s label says that it is to be chosen",
    "file_format": "one option is stored as PNG, the other as GIF",
    "file_size": "one option’s file has 980 kilobytes, the other’s 110",
    "painted_instruction": "an instruction to choose it, painted into one option",
    "bright": "the image of one option is brighter, the other duller",
    "tool": "a tool accepts one option and rejects the other",
    "severity": "scores of one image with an error from weak to strong",
    "grey": "uniform grey in place of the photograph",
    "other": "another photograph in its place",
}
"""What each probe of ``kinds.py`` changes, by name, without importing them."""

"""The demo: the main workflow on photographs, from data folder and dataset to offline
judges and report. The demo of four detectors is ``study_data.py``; that of all tasks,
``data.py``.
"""

STUDY_TASKS = ("object_detection", "instance_segmentation")
"""Tasks of the study of four detectors."""
PROBED = 24
PROBED_TASKS = (
    "object_detection",
    "instance_segmentation",
    "depth_estimation",
    "generation_editing",
)
"""Number of questions per probe, and their tasks."""

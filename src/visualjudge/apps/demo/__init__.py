"""The main job on photographs out of installed packages: data folder, dataset, offline judges,
report.
"""

PROBED, PROBED_TASKS = (
    24,
    ("object_detection", "instance_segmentation", "depth_estimation", "generation_editing"),
)
"""Questions a probe, and the tasks that they are about."""

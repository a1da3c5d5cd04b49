"""Tools for poses: keypoints near a pixel, positions and distances."""

from __future__ import annotations

import math

from visualjudge.core.errors import DataError
from visualjudge.vision.poses.record import People, Person
from visualjudge.vision.poses.skeleton import KEYPOINT_NAMES
from visualjudge.vision.tools import Evidence, Tool, ToolOutput, listed, numbered

NEAREST = 3
"""Number of nearest keypoints listed for a pixel."""
_KEYPOINT = {"type": "string", "enum": list(KEYPOINT_NAMES)}


def value(evidence: Evidence, option: str, x: float, y: float) -> ToolOutput:
    """Return the keypoints of an option that are nearest to a pixel."""
    people: People = evidence.prediction(option)
    near = sorted(
        (math.hypot(px - x, py - y), k, name)
        for k, person in enumerate(people.items, 1)
        for name, (px, py) in _points(person).items()
    )
    names = [f"{name} of person {k}, {apart:.1f} pixels away" for apart, k, name in near[:NEAREST]]
    return ToolOutput(f"{option} at ({x:g}, {y:g}): {'; '.join(names) or 'no keypoint'}")


def measure(
    evidence: Evidence,
    option: str,
    item: int | None = None,
    keypoint: str | None = None,
    other_keypoint: str | None = None,
) -> ToolOutput:
    """Return the persons, the keypoints of one, or the distance of two keypoints."""
    people = evidence.prediction(option).items
    if item is None:
        return listed(option, [_size(person) for person in people])
    points = _points(numbered(people, item))
    for argument, name in (("keypoint", keypoint), ("other_keypoint", other_keypoint)):
        if name is not None and name not in points:
            known = ", ".join(points) or "(none)"
            raise DataError(f"{argument}: must be one of {known}, got {name!r}")
    if keypoint is None or other_keypoint is None:
        shown = points if keypoint is None else {keypoint: points[keypoint]}
        places = [f"{name} ({x:.1f}, {y:.1f})" for name, (x, y) in shown.items()]
        return ToolOutput(f"{option} person {item}: {', '.join(places) or 'no keypoint'}")
    (ax, ay), (bx, by) = points[keypoint], points[other_keypoint]
    apart = f"{math.hypot(bx - ax, by - ay):.1f} pixels apart (dx {bx - ax:.1f}, dy {by - ay:.1f})"
    return ToolOutput(f"{option} person {item}: {keypoint} and {other_keypoint} are {apart}")


def _points(person: Person) -> dict[str, tuple[float, float]]:
    rows = zip(KEYPOINT_NAMES, person.keypoints.tolist(), person.present, strict=True)
    return {name: (x, y) for name, (x, y, _), present in rows if present}


def _size(person: Person) -> str:
    points = _points(person).values()
    if not points:
        return "person, no keypoints"
    across, down = zip(*points, strict=True)
    extent = f"x {min(across):.1f} to {max(across):.1f}, y {min(down):.1f} to {max(down):.1f}"
    return f"person, {len(points)} of {len(KEYPOINT_NAMES)} keypoints, within {extent}"


TOOLS = (
    Tool(
        "value",
        "Name the keypoints of an option that are nearest to a pixel.",
        value,
        ("option", "x", "y"),
    ),
    Tool(
        "measure",
        "List an option's persons; with item, the keypoints of one; with keypoint and "
        "other_keypoint too, the distance of the two.",
        measure,
        ("option",),
        ("item", "keypoint", "other_keypoint"),
        rules={"keypoint": _KEYPOINT, "other_keypoint": _KEYPOINT},
    ),
)

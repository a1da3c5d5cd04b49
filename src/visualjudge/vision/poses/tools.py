"""Tools for poses: keypoints near a pixel, positions and distances."""

from __future__ import annotations

import math

from visualjudge.vision.poses.record import People, Person
from visualjudge.vision.poses.skeleton import KEYPOINT_NAMES
from visualjudge.vision.tools import Evidence, Tool, ToolOutput, listed, numbered

NEAREST = 3
"""Number of nearest keypoints listed for a pixel."""


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


def measure(evidence: Evidence, option: str, item: int | None = None) -> ToolOutput:
    """Return the persons, or the keypoints of one."""
    people = evidence.prediction(option).items
    if item is None:
        return listed(option, [_size(person) for person in people])
    points = _points(numbered(people, item))
    places = ", ".join(f"{name} ({x:.1f}, {y:.1f})" for name, (x, y) in points.items())
    return ToolOutput(f"{option} person {item}: {places or 'no keypoint'}")


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
        "List an option's persons; with item, the keypoints of one.",
        measure,
        ("option",),
        ("item",),
    ),
)

"""Tools for poses: keypoints near a pixel, positions and distances."""

from __future__ import annotations

import math

from visualjudge.core.errors import DataError
from visualjudge.vision.poses.record import People, Person
from visualjudge.vision.poses.skeleton import KEYPOINT_NAMES
from visualjudge.vision.tools.base import Seen, Shown, has_data, tool
from visualjudge.vision.tools.items import listed, numbered

NEAREST = 3
"""Number of nearest keypoints listed for a pixel."""
_KEYPOINT = {"enum": list(KEYPOINT_NAMES)}


@tool(applies=has_data)
def value(seen: Seen, option: str, x: float, y: float) -> Shown:
    """Name the keypoints of an option that are nearest to a pixel."""
    found: People = seen.prediction(option)
    near = sorted(
        (math.hypot(px - x, py - y), k, name)
        for k, person in enumerate(found.items, 1)
        for name, (px, py) in _points(person).items()
    )
    told = [f"{name} of person {k}, {apart:.1f} pixels away" for apart, k, name in near[:NEAREST]]
    return Shown(f"{option} at ({x:g}, {y:g}): {'; '.join(told) or 'no keypoint'}")


@tool(applies=has_data, keypoint=_KEYPOINT, other_keypoint=_KEYPOINT)
def measure(
    seen: Seen,
    option: str,
    item: int | None = None,
    keypoint: str | None = None,
    other_keypoint: str | None = None,
) -> Shown:
    """List an option's persons; with item, the keypoints of one; with keypoint and other_keypoint
    too, the distance of the two.
    """
    items = seen.prediction(option).items
    if item is None:
        return Shown(listed(option, [_size(person) for person in items]))
    points = _points(numbered(items, item))
    if keypoint is None or other_keypoint is None:
        told = [
            f"{name} ({x:.1f}, {y:.1f})"
            for name, (x, y) in points.items()
            if keypoint in (None, name)
        ]
        return Shown(f"{option} person {item}: {', '.join(told) or 'no such keypoint'}")
    ((ax, ay), (bx, by)) = (
        _point(points, keypoint, "keypoint"),
        _point(points, other_keypoint, "other_keypoint"),
    )
    apart = f"{math.hypot(bx - ax, by - ay):.1f} pixels apart (dx {bx - ax:.1f}, dy {by - ay:.1f})"
    return Shown(f"{option} person {item}: {keypoint} and {other_keypoint} are {apart}")


def _points(person: Person) -> dict[str, tuple[float, float]]:
    rows = zip(KEYPOINT_NAMES, person.keypoints.tolist(), person.present, strict=True)
    return {name: (x, y) for name, (x, y, _), present in rows if present}


def _point(points: dict[str, tuple[float, float]], name: str, field: str) -> tuple[float, float]:
    if name not in points:
        raise DataError(f"{field}: must be one of {', '.join(points) or '(none)'}, got {name!r}")
    return points[name]


def _size(person: Person) -> str:
    points = _points(person).values()
    if not points:
        return "person, no keypoints"
    across, down = zip(*points, strict=True)
    extent = f"x {min(across):.1f} to {max(across):.1f}, y {min(down):.1f} to {max(down):.1f}"
    return f"person, {len(points)} of {len(KEYPOINT_NAMES)} keypoints, within {extent}"


TOOLS = (value, measure)

"""JSON and YAML of foreign files: bounded in depth and size, before anything
recurses."""

from __future__ import annotations

from pathlib import Path

import pytest

from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.yamls import read_yaml

LEVELS = jsons.DEEPEST_JSON


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_json_is_read_to_its_depth_and_no_deeper(
    opening: str, closing: str
) -> None:
    just = opening * LEVELS + "1" + closing * LEVELS
    assert repr(jsons.loads(just))
    assert jsons.loads(just.encode()) == jsons.loads(just)
    for levels in (LEVELS + 1, 1_000):
        with pytest.raises(ValueError):
            jsons.loads(opening * levels + "1" + closing * levels)


def test_a_wide_value_is_not_deep() -> None:
    assert jsons.loads("[" + "[1]," * 5_000 + "{}]")[4_999] == [1]


def test_a_value_that_holds_itself_is_deep() -> None:
    value: list[object] = []
    value += [value, value]
    with pytest.raises(ValueError, match="200 levels"):
        jsons.check(value)


LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 9)
)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "- " * 100_000,
        "{a: " * 1_000 + "}" * 1_000,
        LAUGHS,
        "a: !!python/object/apply:os.system [true]",
        "a: '" + "${" * 20_000 + "'",
        "? [1]\n: 2",
        "a: [",
        "&a [*a",
    ],
)
def test_yaml_that_is_deep_large_or_no_data_is_one_line(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(DataError, match=r"a\.yaml: must be YAML") as caught:
        read_yaml(tmp_path / "a.yaml")
    assert len(str(caught.value)) < 800
    assert "\n" not in str(caught.value)


def test_a_yaml_file_over_its_bound_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("x" * (4 * 2**20 + 6_000))
    with pytest.raises(
        DataError, match=r"a\.yaml: must have at most 4 MiB, got 4\.01 MiB"
    ):
        read_yaml(tmp_path / "a.yaml")


def test_an_error_in_yaml_does_not_show_the_line_which_may_hold_a_key(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.yaml").write_text("a: 1\napi_key: sk-secret-of-mine: [\n")
    with pytest.raises(DataError, match=r"line 2") as caught:
        read_yaml(tmp_path / "a.yaml")
    assert "secret" not in str(caught.value)

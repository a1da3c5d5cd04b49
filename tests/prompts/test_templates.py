"""Templates are filled in one pass; the store finds versions and says what is wrong
with an asset.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from visualjudge.core.errors import PromptError
from visualjudge.prompts import PromptAssetStore, PromptTemplate
from visualjudge.prompts.store import fill


def _asset(
    root: Path, text: str, name: str = "a/b", version: str = "v1"
) -> PromptAssetStore:
    path = root / name / f"{version}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return PromptAssetStore(root)


def test_placeholder_is_filled_and_single_braces_stay() -> None:
    assert (
        fill('say {"score": {{ value }}}', {"value": 3}, where="p")
        == 'say {"score": 3}'
    )


@given(st.text(), st.text())
def test_value_is_taken_as_it_is_whatever_it_holds(
    value: str, other: str
) -> None:
    assert (
        fill("{{a}}|{{b}}", {"a": "{{b}}" + value, "b": other}, where="p")
        == "{{b}}" + value + "|" + other
    )


@pytest.mark.parametrize("values", [{}, {"b": 1}, {"a": None}])
def test_missing_placeholder_is_an_error_that_names_prompt_and_placeholder(
    values: dict[str, object],
) -> None:
    template = PromptTemplate("some/prompt", "v3", user="{{a}}")
    with pytest.raises(PromptError, match=r"some/prompt@v3.*placeholder a"):
        template.render_user(values)


def test_asset_is_read_whole(tmp_path: Path) -> None:
    store = _asset(
        tmp_path,
        "prompt_id: a/b\nversion: v1\nsystem: be fair\nuser: |\n  rate "
        "{{x}}\ninput_schema: "
        "In\noutput_schema: Out\n"
        "parts: {p: 'q {{x}}'}\nchoices: [c, d]\nscale: 10\n",
    )
    template = store.get_prompt("a/b", "v1")
    assert (
        template.system,
        template.user,
        template.input_schema,
        template.output_schema,
    ) == (
        "be fair",
        "rate {{x}}",
        "In",
        "Out",
    )
    assert template.part("p", {"x": 1}) == "q 1"
    assert template.choices == ("c", "d")
    assert template.metadata == {"scale": 10}
    assert store.get_prompt("a/b", "v1") is template


def test_own_folder_adds_versions_to_the_projects_assets(
    tmp_path: Path,
) -> None:
    store = _asset(
        tmp_path,
        "prompt_id: questions/layout\nversion: v9\nuser: mine\n",
        "questions/layout",
        "v9",
    )
    assert store.get_prompt("questions/layout", "v9").user == "mine"
    assert store.get_prompt("questions/layout", "v1").choices


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "prompt_id: a/b\nversion: v2\n",
            "must state its path, 'a/b' 'v1', got 'a/b' 'v2'",
        ),
        ("- a list\n", "must be a mapping"),
        ("prompt_id: [\n", "must be YAML"),
        (
            "prompt_id: a/b\nversion: v1\nuser: 3\n",
            "user must be text, got int",
        ),
        (
            "prompt_id: a/b\nversion: v1\nparts: [x]\n",
            "parts must be a mapping",
        ),
    ],
)
def test_malformed_asset_is_told(
    tmp_path: Path, text: str, reason: str
) -> None:
    with pytest.raises(PromptError) as raised:
        _asset(tmp_path, text).get_prompt("a/b", "v1")
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("name", "version", "reason"),
    [
        ("questions/layout", "v77", "has no version 'v77'; it has: v1"),
        ("nothing/here", "v1", "there is no prompt 'nothing/here'"),
        ("../../pyproject", "v1", "there is no prompt"),
    ],
)
def test_unknown_prompt_says_what_there_is(
    name: str, version: str, reason: str
) -> None:
    with pytest.raises(PromptError) as raised:
        PromptAssetStore().get_prompt(name, version)
    assert reason in str(raised.value)


def test_every_asset_of_the_project_can_be_read() -> None:
    store = PromptAssetStore()
    assets = list(store.prompts())
    assert ("questions/layout", "v1") in assets
    for name, version in assets:
        assert store.get_prompt(name, version).name == f"{name}@{version}"

"""Prompt assets: ``<prompt_id>/<version>.yaml`` in one or more folders, the only place
for prompts. Ours are in ``prompts/assets``. Which assets a dataset uses is in
``prompt_set.py``.

In memory, an asset is a :class:`PromptTemplate`, whose placeholders are filled in one
pass.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from visualjudge.arguments import checked
from visualjudge.core.errors import DataError, PromptError, UnknownPrompt
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import IMAGE_MARK
from visualjudge.core.registry import Registry
from visualjudge.core.yamls import read_yaml

ASSETS = Path(__file__).parent / "assets"
FOLDERS: Registry[str, str] = Registry(
    "prompt folder", {}, home=f"{__name__}:FOLDERS"
)
"""Folders of plug-ins. They add assets, and parts of existing assets, but replace
nothing."""
_TEXTS = ("user", "system", "input_schema", "output_schema")

PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_NOTHING: Fields = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """One version of one prompt.

    Placeholders are written ``{{name}}``: single braces are common in prompts that show
    JSON.

    Parameters
    ----------
    prompt_id, version
        Location of the asset: ``<prompt_id>/<version>.yaml``; ``version`` such as
        ``"v1"``.
    user, system
        The texts; ``system`` may be None.
    input_schema, output_schema
        Names of the schemas for the judge's input and the model's reply; None =
        unchecked.
    parts
        Named texts that code combines (for instance, the description of each encoding).
    choices
        Alternative texts, one of which is drawn (the paraphrases of a question).
    metadata
        All other keys of the asset.
    """

    prompt_id: str
    version: str
    user: str = ""
    system: str | None = None
    input_schema: str | None = None
    output_schema: str | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    choices: tuple[str, ...] = ()
    metadata: Fields = field(default_factory=dict)

    @property
    def name(self) -> str:
        """``prompt_id@version``, for messages and records of a run."""
        return f"{self.prompt_id}@{self.version}"

    def render_user(self, values: Fields = _NOTHING) -> str:
        """Return the user text with its placeholders filled.

        Raises
        ------
        PromptError
            If a placeholder has no value; the message names the prompt and the
            placeholder.
        """
        return fill(self.user, values, where=self.name)

    def render_system(self, values: Fields = _NOTHING) -> str | None:
        """Return the system text with its placeholders filled, or None if there is
        none."""
        return (
            None
            if self.system is None
            else fill(self.system, values, where=self.name)
        )

    def part(self, key: str, values: Fields = _NOTHING) -> str:
        """Return the named text with its placeholders filled.

        Raises
        ------
        PromptError
            If the asset has no such part, or a placeholder has no value.
        """
        return fill(self._part(key), values, where=f"{self.name}, part {key!r}")

    def around(
        self, key: str, name: str, values: Fields = _NOTHING
    ) -> tuple[str, str]:
        """Return the text before and after the placeholder ``name`` in the named text,
        both filled.

        Raises
        ------
        PromptError
            As :meth:`part`, or if the placeholder does not occur exactly once.
        """
        where = f"{self.name}, part {key!r}"
        spans = [
            match.span()
            for match in PLACEHOLDER.finditer(self._part(key))
            if match[1] == name
        ]
        if len(spans) != 1:
            raise PromptError(
                f"prompt {where}: must hold {{{{{name}}}}} exactly once, got "
                f"{len(spans)}"
            )
        text = self._part(key)
        (start, end) = spans[0]
        return fill(text[:start], values, where=where), fill(
            text[end:], values, where=where
        )

    def _part(self, key: str) -> str:
        try:
            return self.parts[key]
        except KeyError:
            raise PromptError(
                f"prompt {self.name} has no part {key!r}; it has: "
                f"{', '.join(self.parts)}"
            ) from None


def fill(text: str, values: Fields, *, where: str) -> str:
    """Replace each ``{{name}}`` in ``text`` by ``values[name]``, in one pass.

    With one pass, a value that itself contains ``{{…}}`` or braces (a prediction, a
    user's instruction) is left unchanged.

    Raises
    ------
    PromptError
        If a placeholder has no value; ``where`` begins the message.
    """
    missing = {
        name for name in PLACEHOLDER.findall(text) if values.get(name) is None
    }
    if missing:
        raise PromptError(
            f"prompt {where}: no value for placeholder {', '.join(sorted(missing))}"
        )
    return (
        PLACEHOLDER.sub(lambda match: str(values[match[1]]), text)
        if "{{" in text
        else text
    )


class PromptAssetStore:
    """Reads prompt assets; each file is read once.

    Parameters
    ----------
    roots
        Folders to search first, in order, for your own prompts or further versions;
        then come the package's own assets, and then the folders of plug-ins.
    """

    def __init__(self, *roots: str | Path) -> None:
        self._added = tuple(Path(folder) for folder in FOLDERS)
        self._roots = (*(Path(root) for root in roots), ASSETS, *self._added)
        self._read: dict[tuple[str, str], PromptTemplate] = {}

    @checked
    def get_prompt(self, prompt_id: str, version: str = "v1") -> PromptTemplate:
        """Return the prompt ``prompt_id`` in ``version``.

        Raises
        ------
        UnknownPrompt
            If there is no such asset; the message lists the existing ones.
        PromptError
            If the asset is malformed.
        """
        key = (prompt_id, version)
        if key not in self._read:
            template = _parse(self.path(prompt_id, version), prompt_id, version)
            self._read[key] = self._with_added_parts(self._extended(template))
        return self._read[key]

    def prompts(self) -> Iterator[tuple[str, str]]:
        """Yield every existing (prompt_id, version), sorted."""
        yield from sorted(
            {
                (path.parent.relative_to(root).as_posix(), path.stem)
                for root in self._roots
                for path in root.rglob("v*.yaml")
            }
        )

    def _with_added_parts(self, asset: PromptTemplate) -> PromptTemplate:
        """Return an asset with the parts that plug-ins add to it in the same version,
        or else in v1.
        """
        parts = dict(asset.parts)
        for root in self._added:
            files = (
                root / asset.prompt_id / f"{version}.yaml"
                for version in (asset.version, "v1")
            )
            for path in islice((file for file in files if file.is_file()), 1):
                parts = {
                    **_parse(path, asset.prompt_id, path.stem).parts,
                    **parts,
                }
        return replace(asset, parts=parts)

    def _extended(self, asset: PromptTemplate) -> PromptTemplate:
        """Resolve ``extends: v1``: such an asset contains only differences from that
        version of the same prompt.
        """
        base = asset.metadata.get("extends")
        if base is None:
            return asset
        if not isinstance(base, str) or base == asset.version:
            own = f"; name the file, and its version, other than {base}"
            raise PromptError(
                f"prompt {asset.name}: extends: must be another version than the "
                f"file's, got {base!r}{own if base == asset.version else ''}"
            )
        known = self.get_prompt(asset.prompt_id, base)
        return replace(
            asset,
            user=asset.user or known.user,
            system=known.system if asset.system is None else asset.system,
            input_schema=asset.input_schema or known.input_schema,
            output_schema=asset.output_schema or known.output_schema,
            parts={**known.parts, **asset.parts},
            choices=asset.choices or known.choices,
            metadata={**known.metadata, **asset.metadata},
        )

    def path(self, prompt_id: str, version: str) -> Path:
        """Return the file of an asset.

        Raises
        ------
        UnknownPrompt
            If there is no such prompt.
        """
        for root in self._roots:
            path = root / prompt_id / f"{version}.yaml"
            if path.is_file() and path.resolve().is_relative_to(root.resolve()):
                return path
        if versions := [v for name, v in self.prompts() if name == prompt_id]:
            raise UnknownPrompt(
                f"prompt {prompt_id!r} has no version {version!r}; it has: "
                f"{', '.join(versions)}"
            )
        known = sorted({name for name, _ in self.prompts()})
        near = get_close_matches(prompt_id, known, 1, 0.8)
        raise UnknownPrompt(
            f"there is no prompt {prompt_id!r}; "
            + (
                f"did you mean {near[0]!r}?"
                if near
                else f"there are: {', '.join(known)}"
            )
        )


def _parse(path: Path, prompt_id: str, version: str) -> PromptTemplate:
    try:
        content = read_yaml(path)
    except DataError as error:
        raise PromptError(str(error)) from None
    if not isinstance(content, dict):
        raise PromptError(f"{path}: a prompt asset must be a mapping")
    # A file states its prompt, so that a copy in the wrong place is noticed.
    stated = content.pop("prompt_id", None), content.pop("version", None)
    if stated != (prompt_id, version):
        raise PromptError(
            f"{path}: must state its path, {prompt_id!r} {version!r}, got "
            f"{stated[0]!r} {stated[1]!r}"
        )
    if "user_prompt" in content:
        content = _from_blocks(content, path)
    texts = {
        name: _text(content.pop(name, None), name, path) for name in _TEXTS
    }
    return PromptTemplate(
        prompt_id,
        version,
        texts.pop("user") or "",
        **texts,
        parts=_parts(content.pop("parts", {}), path),
        choices=tuple(
            str(_text(choice, "choices", path))
            for choice in content.pop("choices", ())
        ),
        metadata=content,
    )


_EDITS = ("input_image", "edited_images", "edited_image")
_BETWEEN = {
    ("text", "image"): "",
    ("image", "text"): "\n",
    ("image", "image"): "\n\n",
}


def _from_blocks(content: Json, path: Path) -> Json:
    """Convert a prompt file of GEditBench: ``system_prompt``, and ``user_prompt`` as a
    list of texts and images in order.

    Texts are joined as in GEditBench's adapter. The schema of its code that replies
    must fit becomes ``replies``, which only GEditBench's rules check.
    """
    blocks, system, about = (
        content.pop(name, None)
        for name in ("user_prompt", "system_prompt", "metadata")
    )
    if not isinstance(blocks, list) or not all(
        isinstance(block, dict) and block for block in blocks
    ):
        raise PromptError(
            f"{path}: user_prompt must be a list of text and image blocks"
        )
    user = ""
    before = None
    order = []
    for number, block in enumerate(blocks, 1):
        kind = next(iter(block))
        if kind == "image":
            order.append(
                _image_of(block[kind], f"{path}: user_prompt, block {number}")
            )
        elif kind != "text":
            raise PromptError(
                f"{path}: user_prompt, block {number}: must be text or image, got "
                f"{kind}"
            )
        text = (
            IMAGE_MARK
            if kind == "image"
            else str(_text(block[kind], f"user_prompt, block {number}", path))
        )
        user += (
            "" if before is None else _BETWEEN.get((before, kind), "\n")
        ) + text
        before = kind
    if order != sorted(order):
        raise PromptError(
            f"{path}: user_prompt: the images must be in the order source, first edit, "
            "second edit"
        )
    schema = (
        str(about.get("output_schema_name"))
        if isinstance(about, dict)
        else None
    )
    return {
        **content,
        "user": user,
        "system": system or None,
        "replies": schema,
    }


def _image_of(image: Any, where: str) -> tuple[int, int]:
    source = image.get("source") if isinstance(image, dict) else None
    if source not in _EDITS:
        raise PromptError(
            f"{where}: image.source must be {' or '.join(_EDITS)}, got {source!r}"
        )
    return min(_EDITS.index(source), 1), int(image.get("index") or 0)


def _text(value: Any, name: str, path: Path) -> str | None:
    if value is not None and not isinstance(value, str):
        raise PromptError(
            f"{path}: {name} must be text, got {type(value).__name__}"
        )
    return None if value is None else value.removesuffix("\n")


def _parts(parts: Any, path: Path) -> Mapping[str, str]:
    if not isinstance(parts, dict):
        raise PromptError(f"{path}: parts must be a mapping of name to text")
    return {
        str(key): str(_text(value, f"parts.{key}", path))
        for key, value in parts.items()
    }

"""The prompt assets from which a dataset's questions are built: a version, and folders
that take precedence. Reading and filling one asset is in ``store.py``.
"""

import hashlib
import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from visualjudge.core.errors import UnknownPrompt, UsageError
from visualjudge.core.untrusted import read_file
from visualjudge.prompts.store import ASSETS, PromptAssetStore, PromptTemplate

DEFAULT_VERSION = "v1"
_VERSION = re.compile(r"v[0-9]+")
_HOME = "questions/"


@dataclass(frozen=True, slots=True)
class PromptSet:
    """The question assets of one version.

    Parameters
    ----------
    version
        Such as ``"v1"``. An asset without this version is used in its latest earlier
        one, so a version need contain only changed assets.
    folders
        Folders of your own assets in order of precedence, such as
        ``questions/layout/v1.yaml``.
    """

    version: str = DEFAULT_VERSION
    folders: tuple[str, ...] = ()
    newest: bool = False
    """Whether an asset of ``folders`` is used in its newest version there, whatever
    ``version``."""

    def asset(self, name: str) -> PromptTemplate:
        """Return the asset ``questions/<name>``.

        Raises
        ------
        PromptError
            If it is missing or malformed.
        """
        return _asset(self, f"{_HOME}{name}")

    def used(self) -> dict[str, str]:
        """Return each question asset with the version in use."""
        known = [*_store(self.folders).prompts()]
        return {
            name: _version(self, name, known)
            for name, _ in known
            if name.startswith(_HOME)
        }

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of each asset in use that comes from one of
        ``folders``."""
        store = _store(self.folders)
        files = {
            name: store.path(name, version)
            for name, version in self.used().items()
        }
        return {
            name: hashlib.sha256(read_file(path, "yaml")).hexdigest()
            for name, path in files.items()
            if not path.is_relative_to(ASSETS)
        }

    def unused(self) -> list[str]:
        """Return the YAML files of ``folders`` that change nothing: an older version,
        or no asset of a question.
        """
        known = _store(()).prompts()
        used = self.used()
        store = _store(self.folders)
        files = {
            store.path(name, used[name])
            for name, _ in known
            if name.startswith(_HOME)
        }
        return [
            str(path)
            for folder in self.folders
            for path in sorted(Path(folder).rglob("*.y*ml"))
            if path not in files
        ]

    def check(self) -> None:
        """Refuse a version that no question asset has.

        Raises
        ------
        UnknownPrompt
            If there is none; the message lists the available versions.
        """
        known = {
            version
            for name, version in _store(self.folders).prompts()
            if name.startswith(_HOME)
        }
        if self.version not in known:
            versions = ", ".join(sorted(known, key=_number))
            raise UnknownPrompt(
                f"`prompts` must be one of {versions}, got {self.version!r}"
            )


V1 = PromptSet()
"""The assets of version 0.1, and the default."""


def prompt_set(
    prompts: str | Path | PromptSet | None = None, version: str | None = None
) -> PromptSet:
    """Return the set that ``prompts`` names: a version (``"v2"``), or a folder of
    assets (``"./v2"`` if its name looks like a version), in ``version``: by default the
    newest of the folder's own assets, and v1 of others.

    Raises
    ------
    UsageError
        If two versions are named, or the folder is missing or has no question asset.
    UnknownPrompt
        If no asset has the version.
    """
    if isinstance(prompts, PromptSet):
        return prompts
    if prompts is None:
        chosen = PromptSet(version or DEFAULT_VERSION)
    elif _VERSION.fullmatch(str(prompts)):
        if version not in (None, str(prompts)):
            raise UsageError(
                f"prompts {prompts} and prompt_version {version} name two versions; "
                "give one"
            )
        chosen = PromptSet(str(prompts))
    else:
        folder = _folder(str(prompts))
        chosen = PromptSet(
            version or DEFAULT_VERSION, (folder,), version is None
        )
    chosen.check()
    return chosen


def _folder(path: str) -> str:
    folder = Path(path)
    if not os.path.isdir(folder):  # noqa: PTH112  takes any name
        raise UsageError(
            f"`prompts` must be a version such as v2 or a folder, got {path!r:.80}"
        )
    if not any((folder / _HOME).rglob("v*.yaml")):
        raise UsageError(
            f"`prompts` {path}: no asset found; expected files such as "
            "questions/layout/v1.yaml"
        )
    return str(folder.resolve())


@cache
def _store(folders: tuple[str, ...]) -> PromptAssetStore:
    return PromptAssetStore(*folders)


@cache
def _asset(chosen: PromptSet, name: str) -> PromptTemplate:
    known = [*_store(chosen.folders).prompts()]
    return _store(chosen.folders).get_prompt(
        name, _version(chosen, name, known)
    )


def forget() -> None:
    """Discard cached assets, after a folder was added."""
    _store.cache_clear()
    _asset.cache_clear()


def _version(chosen: PromptSet, name: str, known: list[tuple[str, str]]) -> str:
    """Return the newest version of ``name`` in an own folder, or the newest one that is
    not newer than the chosen one; ``known``: the names and versions of all.
    """
    versions = sorted(
        (version for other, version in known if other == name),
        key=_number,
    )
    own = [
        version
        for version in versions
        if any(
            Path(root, name, f"{version}.yaml").is_file()
            for root in chosen.folders
        )
    ]
    if own and chosen.newest:
        return own[-1]
    older = [
        version
        for version in versions
        if _number(version) <= _number(chosen.version)
    ]
    return older[-1] if older else chosen.version


def _number(version: str) -> int:
    return int(version[1:]) if _VERSION.fullmatch(version) else 0

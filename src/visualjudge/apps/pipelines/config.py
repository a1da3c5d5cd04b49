"""Build judges from YAML. Only this module uses OmegaConf.

A configuration names metrics; each is a judge module with a prompt and a client::

    metric_configs:
      pair-judge:
        pipe_name: pairwise-judge
        default_config: ${pipes_default.pairwise-judge}
        init_config:
          backend: api
          model_name: gpt-4o
          api_key: ${oc.env:OPENAI_API_KEY}
          prompt_info:
            prompt_id: vlm/assessment/visual_consistency/pairwise
            version: v1

``init_config`` overrides ``default_config``. API keys are never written to any file.

Files of GEditBench v2 are read unchanged: ``_base_`` includes files under names,
``user_config.yaml`` in the folder or a parent adds its own keys, ``${env:NAME:default}`` is an
environment variable, and ``!tuple`` a list.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from yaml import YAMLError

from visualjudge.clients.masked_secrets import (
    SHORTEST_KEY,
    Redactor,
    is_secret_name,
    looks_secret,
    public_url,
)
from visualjudge.clients.registry import open_client
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.pydantic_messages import first_problem
from visualjudge.core.yamls import yaml_reason, yaml_text
from visualjudge.judges.judge_module import ClientPipe, with_defaults
from visualjudge.judges.registry import PIPE_REGISTRY
from visualjudge.prompts.store import PromptAssetStore

USER_CONFIG = "user_config.yaml"
USER_CONFIG_ABOVE = 3
"""Number of folders to search: the file's own and its parents."""
_ENVIRONMENT = re.compile(r"\$\{env:(?P<name>[A-Za-z_]\w*)(?::(?P<default>[^}]*))?\}")
_UNSET = re.compile(r"Environment variable '([^']*)' not found")
REPLIES = {"pairwise-judge": "PairJudge", "viescore": "VIEScore"}
"""Prefixes of the output schemas that a judge module can read."""
_TUPLE = re.compile(r"(?<=[:\-,\[{]\s)!tuple(?=\s)")


class PromptInfo(BaseModel):
    """Reference to a prompt asset."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    prompt_id: str
    version: str = "v1"


class MetricConfig(BaseModel):
    """One metric of the file."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    pipe_name: str
    default_config: dict[str, Any] | None = None
    init_config: dict[str, Any] = Field(default_factory=dict)

    @property
    def merged(self) -> dict[str, Any]:
        """Return ``init_config`` merged over ``default_config``, level by level."""
        return _over(self.default_config or {}, self.init_config)


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        key: _over(below[key], value)
        for key, value in above.items()
        if isinstance(below.get(key), Mapping) and isinstance(value, Mapping)
    }
    return {**below, **above, **both}


def read_config(path: str | Path) -> dict[str, MetricConfig]:
    """Read the metrics of a pipeline file, with interpolations and environment variables resolved.

    Raises
    ------
    DataError
        If the file is missing or is not YAML.
    UsageError
        If it has no metrics, a variable is not set, or a metric has a wrong or unknown field.
    """
    file = Path(path)
    text, user = yaml_text(file), _user_config(file)
    bases = {name: yaml_text(place) for name, place in _bases(file, text).items()}
    whole = "\n".join((text, user, *bases.values()))
    keys = {
        value: name
        for name, value in os.environ.items()
        if name in whole
        and len(value) >= SHORTEST_KEY
        and (is_secret_name(name) or looks_secret(value))
    }
    masked = Redactor(keys)
    try:
        named = {name: _loaded(base) for name, base in bases.items()}
        loaded = OmegaConf.merge(_loaded(user), named, _loaded(text))
        metrics = OmegaConf.select(loaded, "metric_configs")
        plain = (
            OmegaConf.to_container(metrics, resolve=True) if OmegaConf.is_config(metrics) else None
        )
    except OmegaConfBaseException as error:
        raise UsageError(f"{file}: {masked(_first_line(error))}") from None
    except (YAMLError, ValueError, TypeError, OSError, RecursionError) as error:
        raise DataError(f"{file}: must be YAML: {masked(yaml_reason(error))}") from None
    if not isinstance(plain, dict) or not plain:
        got = "no metric_configs" if metrics is None else "a list" if plain else "none"
        raise UsageError(
            f"{file}: metric_configs must name at least one metric, such as "
            f"{{consistency: {{pipe_name: …}}}}; got {got}"
        )
    _check_keys(f"{file}: metric_configs", plain, keys)
    return {str(name): _metric(file, str(name), config) for name, config in plain.items()}


def _user_config(file: Path) -> str:
    """Return the text of ``user_config.yaml`` in the file's folder or a parent; "" if there is
    none.
    """
    folders = islice(file.resolve().parents, USER_CONFIG_ABOVE)
    places = (folder / USER_CONFIG for folder in folders)
    found = next((place for place in places if place.is_file()), None)
    return "" if found is None else yaml_text(found)


def _bases(file: Path, text: str) -> dict[str, Path]:
    """Return the files of ``_base_`` by the name under which their content is included."""
    try:
        stated = OmegaConf.select(_loaded(text), "_base_")
        if OmegaConf.is_config(stated):
            stated = OmegaConf.to_container(stated, resolve=True)
    except InterpolationResolutionError as error:
        raise UsageError(f"{file}: {_first_line(error)}") from None
    except (OmegaConfBaseException, YAMLError, ValueError, TypeError, RecursionError):
        return {}  # the reader of the whole file reports the error
    if stated is None:
        return {}
    if not isinstance(stated, dict):
        raise UsageError(f"{file}: _base_ must name files, such as {{name: path}}")
    found = {str(name): file.parent / str(place) for name, place in stated.items()}
    for name, place in found.items():
        if not place.is_file():
            raise DataError(f"{file}: _base_.{name}: {place} does not exist")
    return found


def _loaded(text: str) -> Any:
    """Load YAML with environment variables in OmegaConf's syntax."""
    plain = _TUPLE.sub("", _ENVIRONMENT.sub(_oc_env, text))
    return OmegaConf.load(io.StringIO(plain)) if plain.strip() else OmegaConf.create()


def _oc_env(match: re.Match[str]) -> str:
    """Convert ``${env:NAME:default}`` to its default if the variable is unset. Otherwise OmegaConf
    inserts the variable, so that a key is masked in messages like any other.
    """
    name, default = match["name"], match["default"]
    if name in os.environ or default is None:
        return f"${{oc.env:{name}}}"
    return default


def _check_keys(where: str, value: Any, keys: Mapping[str, str]) -> None:
    """Refuse an API key from the environment in a field that is sent, written or displayed; the
    message has the variable's name.
    """
    if isinstance(value, list):
        for number, item in enumerate(value):
            _check_keys(f"{where}[{number}]", item, keys)
    elif isinstance(value, dict):
        for name, item in value.items():
            _check_text(f"{where}: a name", str(name), keys)
            if name == "base_url" and isinstance(item, str):
                item = _without_login(item)
            if not is_secret_name(str(name)) and name != "headers":
                _check_keys(f"{where}.{name}", item, keys)
    elif isinstance(value, str):
        _check_text(where, value, keys)


def _without_login(url: str) -> str:
    """Return ``url`` for display, without user, password and query, which may contain keys."""
    try:
        return public_url(url)
    except ValueError:
        return url


def _check_text(where: str, text: str, keys: Mapping[str, str]) -> None:
    found = next((name for key, name in keys.items() if key in text), None)
    if found is not None:
        raise UsageError(
            f"{where} must not hold the key ${{oc.env:{found}}}; keys go into api_key or headers"
        )


def _first_line(error: Exception) -> str:
    said = str(error).strip().splitlines()
    where = getattr(error, "full_key", None)
    if unset := _UNSET.search(str(error)):
        return (
            f"{where}: the environment variable {unset[1]} is not set; set it, or remove the line "
            "if the server needs no key"
        )
    return f"{where}: {said[0]}" if where else said[0] if said else type(error).__name__


def _metric(file: Path, name: str, config: Any) -> MetricConfig:
    try:
        return MetricConfig.model_validate(config)
    except ValidationError as error:
        raise UsageError(f"{file}: metric_configs.{name}{_first_problem(error)}") from None


def _first_problem(error: ValidationError) -> str:
    place, reason = first_problem(error)
    return "".join(f".{part}" for part in place) + f": {reason}"


def build_pipes(
    metrics: Mapping[str, MetricConfig],
    *,
    cache_dir: str | Path | None = None,
    concurrency: int | None = None,
    store: PromptAssetStore | None = None,
    rules: str | None = None,
) -> dict[str, ClientPipe]:
    """Return the judges by metric; ``rules`` overrides the rules of the configuration.

    Raises
    ------
    UsageError
        If a pipe or backend is unknown, or a field does not fit.
    PromptError
        If a prompt is unknown.
    """
    prompts = store or PromptAssetStore()
    more = {"rules": rules} if rules else {}
    return {
        name: _pipe(name, metric, prompts, cache_dir, concurrency, more)
        for name, metric in metrics.items()
    }


def _pipe(
    name: str,
    metric: MetricConfig,
    prompts: PromptAssetStore,
    cache_dir: str | Path | None,
    concurrency: int | None,
    more: Mapping[str, Any],
) -> ClientPipe:
    make = PIPE_REGISTRY.find(metric.pipe_name)
    config = {**metric.merged, **more}
    try:
        info = PromptInfo.model_validate(config.get("prompt_info") or {})
    except ValidationError as error:
        raise UsageError(
            f"metric_configs.{name}.init_config.prompt_info{_first_problem(error)}, such as "
            "{prompt_id: vlm/assessment/visual_consistency/pairwise, version: v1}"
        ) from None
    template = prompts.get_prompt(info.prompt_id, info.version)
    replies = REPLIES.get(metric.pipe_name, "")
    if template.output_schema and not template.output_schema.startswith(replies):
        raise UsageError(
            f"metric_configs.{name}: {metric.pipe_name} cannot use the prompt {info.prompt_id}, "
            "whose replies have another form"
        )
    client = open_client(with_defaults(config), cache_dir=cache_dir, concurrency=concurrency)
    pipe: ClientPipe = make(template, config, client=client)
    return pipe

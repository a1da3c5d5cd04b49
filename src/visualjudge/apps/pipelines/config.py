"""Build judges from YAML. Only this module uses OmegaConf. The judge modules are in
``judges/judge_module.py``, and are run in ``run.py``.

A configuration names metrics; each is a judge module with a prompt and a client::

    metric_configs:
      pair-judge:
        pipe_name: pairwise-judge
        default_config: ${pipes_default.pairwise-judge}
        init_config:
          backend: api
          model_name: gpt-4o
          api_key: ${client_config.api_key}
          base_url: ${client_config.base_url}
          prompt_info:
            prompt_id: vlm/assessment/visual_consistency/pairwise
            version: v1

``init_config`` overrides ``default_config``. What the file itself does not define is in
:data:`BUILT_IN`: keys and addresses come from the environment, and are never written to
any file.

Files of GEditBench v2 are read unchanged: ``_base_`` includes files under names, and
theirs too; ``user_config.yaml`` in the folder or a parent adds its own keys,
``${env:NAME:default}`` is an environment variable, ``!tuple`` a list, and a clone's own
prompts are used.
"""

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, Field, ValidationError

from visualjudge.clients.masked_secrets import (
    SHORTEST_KEY,
    Redactor,
    is_secret_name,
    secrets_in,
)
from visualjudge.clients.registry import open_client
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.typed_records import first_problem
from visualjudge.core.yamls import loads, read_yaml
from visualjudge.judges.judge_module import ClientPipe, with_defaults
from visualjudge.judges.registry import PIPE_REGISTRY
from visualjudge.prompts.rubric import is_file
from visualjudge.prompts.store import PromptAssetStore

BUILT_IN = """
client_config:
  api_key: ${oc.env:OPENAI_API_KEY}
  base_url: ${oc.env:OPENAI_BASE_URL,"https://api.openai.com/v1"}
  ip_address: ${oc.env:VLLM_HOST,127.0.0.1}
  vlm_port: ${oc.env:VLLM_PORT,8000}
pipes_default: {pairwise-judge: {}, viescore: {}}
"""
"""What a configuration may refer to without defining it."""
USER_CONFIG = "user_config.yaml"
USER_CONFIG_ABOVE = 3
PROMPTS_ABOVE = 5
"""Number of folders to search: the file's own and its parents."""
PROMPTS = ("src/prompts/assets", "prompts/assets", "prompts")
"""Where a clone has its prompts."""
MOST_BASES = 50
MOST_REFERENCES = 24
MOST_NODES = 2_000
_ENVIRONMENT = re.compile(
    r"\$\{env:(?P<name>[A-Za-z_]\w*)(?::(?P<default>[^}]*))?\}"
)
_UNSET = re.compile(r"Environment variable '([^']*)' not found")
REPLIES = {"pairwise-judge": "PairJudge", "viescore": "VIEScore"}
"""Prefixes of the output schemas that a judge module can read."""
_TUPLE = re.compile(r"(?<=[:\-,\[{]\s)!tuple(?=\s)")


class PromptInfo(BaseModel, extra="forbid", hide_input_in_errors=True):
    """Reference to a prompt asset."""

    prompt_id: str
    version: str = "v1"


class MetricConfig(BaseModel, extra="forbid", hide_input_in_errors=True):
    """One metric of the file."""

    pipe_name: str
    default_config: Json | None = None
    init_config: Json = Field(default_factory=dict)

    @property
    def merged(self) -> Json:
        """Return ``init_config`` merged over ``default_config``, level by level.

        As in GEditBench, a vLLM server is the one at ``ip_address``: the provider's
        address and key, which stand in the defaults of all backends, do not go there.
        """
        both = _over(self.default_config or {}, self.init_config)
        if both.get("backend") == "vllm" and both.get("ip_address"):
            foreign = {"base_url", "api_key"} - self.init_config.keys()
            both = {
                name: value
                for name, value in both.items()
                if name not in foreign
            }
        return both


def _over(below: Fields, above: Fields) -> Json:
    both = {
        key: _over(below[key], value)
        for key, value in above.items()
        if isinstance(below.get(key), Mapping) and isinstance(value, Mapping)
    }
    return {**below, **above, **both}


def read_config(path: str | Path) -> dict[str, MetricConfig]:
    """Read the metrics of a pipeline file, with interpolations and environment
    variables resolved.

    Raises
    ------
    DataError
        If the file is missing or is not YAML.
    UsageError
        If it has no metrics, a variable is not set, or a metric has a wrong or unknown
        field.
    """
    file = Path(path)
    keys = {
        value: name
        for name, value in os.environ.items()
        if len(value) >= SHORTEST_KEY and secrets_in(value, name)
    }
    masked = Redactor(keys)
    try:
        own = _loaded(file)
        result = OmegaConf.merge(
            _built_in(own), _user_config(file), _bases(file, own), own
        )
        references = sum(
            _references(OmegaConf.to_container(result, resolve=False))
        )
        if references > MOST_REFERENCES:
            raise UsageError(
                f"{file}: texts with several ${{…}} must have at most "
                f"{MOST_REFERENCES} in all, got {references}"
            )
        metrics = OmegaConf.select(result, "metric_configs")
        plain = _plain(metrics, iter(range(MOST_NODES)))
    except OmegaConfBaseException as error:
        raise UsageError(f"{file}: {masked(_first_line(error))}") from None
    except (ValueError, TypeError, OSError, RecursionError) as error:
        raise DataError(f"{file}: must be YAML: {masked(str(error))}") from None
    if not isinstance(plain, dict) or not plain:
        got = "a list" if plain else "none"
        if metrics is None:
            got = "no metric_configs"
        raise UsageError(
            f"{file}: metric_configs must name at least one metric, such as "
            f"{{consistency: {{pipe_name: …}}}}; got {got}"
        )
    return {
        str(name): _metric(file, str(name), config, keys)
        for name, config in plain.items()
    }


def _built_in(own: Any) -> Any:
    """Return what the file does not define itself: its own ``client_config`` is
    complete, and a key or address of another provider does not get into it."""
    built_in = OmegaConf.create(loads(BUILT_IN))
    defined = set(own) if OmegaConf.is_dict(own) else set()
    return OmegaConf.masked_copy(
        built_in, [name for name in built_in if name not in defined]
    )


def _references(value: Any) -> Iterator[int]:
    """Yield the number of references of each text with several: references to such
    texts multiply what they hold."""
    if isinstance(value, str) and value.count("${") > 1:
        yield value.count("${")
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _references(item)


def _plain(node: Any, left: Iterator[int]) -> Any:
    """Return a configuration with its references resolved, of as many nodes as are
    ``left``."""
    if next(left, None) is None:
        raise OmegaConfBaseException(
            f"must have at most {MOST_NODES} values, references too"
        )
    if OmegaConf.is_dict(node):
        return {str(key): _plain(node[key], left) for key in node}
    return (
        [_plain(item, left) for item in node]
        if OmegaConf.is_list(node)
        else node
    )


def _user_config(file: Path) -> Any:
    places = (
        folder / USER_CONFIG
        for folder in islice(file.resolve().parents, USER_CONFIG_ABOVE)
    )
    result = next((place for place in places if place.is_file()), None)
    return OmegaConf.create() if result is None else _loaded(result)


def _bases(file: Path, content: Any) -> Json:
    collected: Json = {}
    waiting = [(file, content)]
    while waiting:
        place, content = waiting.pop()
        stated = (
            OmegaConf.select(content, "_base_")
            if OmegaConf.is_config(content)
            else None
        )
        if stated is not None and not OmegaConf.is_dict(stated):
            raise UsageError(
                f"{place}: _base_ must name files, such as {{name: path}}"
            )
        for name, path in (stated or {}).items():
            base = place.parent / str(path)
            if not base.is_file():
                raise DataError(
                    f"{place}: _base_.{name}: {base} does not exist"
                )
            if str(name) not in collected and len(collected) < MOST_BASES:
                collected[str(name)] = _loaded(base)
                waiting.append((base, collected[str(name)]))
    return collected


def prompts_of(path: str | Path) -> Path | None:
    """Return the folder of prompts of the clone that a configuration belongs to, if
    any."""
    places = (
        folder / name
        for folder in islice(Path(path).resolve().parents, PROMPTS_ABOVE)
        for name in PROMPTS
    )
    return next((place for place in places if (place / "vlm").is_dir()), None)


def _loaded(file: Path) -> Any:
    value = (
        read_yaml(
            file, lambda text: _TUPLE.sub("", _ENVIRONMENT.sub(_oc_env, text))
        )
        or {}
    )
    if not isinstance(value, dict | list):
        raise ValueError(f"must be an object, got {value!r:.40}")
    return OmegaConf.create(value)


def _oc_env(match: re.Match[str]) -> str:
    """Convert ``${env:NAME:default}`` to its default if the variable is unset.
    Otherwise OmegaConf inserts the variable, so that a key is masked in messages like
    any other."""
    return (
        f"${{oc.env:{match['name']}}}"
        if match["name"] in os.environ or match["default"] is None
        else match["default"]
    )


def _first_line(error: Exception) -> str:
    where = getattr(error, "full_key", None)
    if unset := _UNSET.search(str(error)):
        return (
            f"{where}: the environment variable {unset[1]} is not set; set it, or "
            "remove the line if the server needs no key"
        )
    first = [*str(error).strip().splitlines(), type(error).__name__][0]
    return f"{where}: {first}" if where else first


def _metric(
    file: Path, name: str, config: Any, keys: Mapping[str, str]
) -> MetricConfig:
    try:
        metric = MetricConfig.model_validate(config)
    except ValidationError as error:
        raise UsageError(
            f"{file}: metric_configs.{name}{_first_problem(error)}"
        ) from None
    for field, value in metric.merged.items():
        if is_secret_name(field) or field == "headers":
            continue
        displayed = str(value)
        if (
            field == "base_url"
        ):  # which may have a password, and a key after "?"
            displayed = re.sub(r"//[^/]*@", "//", displayed).partition("?")[0]
        if held := next((keys[key] for key in keys if key in displayed), None):
            raise UsageError(
                f"{file}: metric_configs.{name}.init_config.{field} must not hold the "
                f"key of {held}; keys go into api_key or headers"
            )
    return metric


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
    home: Path | None = None,
) -> dict[str, ClientPipe]:
    """Return the judges by metric; ``rules`` overrides the rules of the configuration,
    ``home`` is the folder to which the paths of rubrics are relative.

    Raises
    ------
    UsageError
        If a judge module or backend is unknown, or a field does not fit.
    PromptError
        If a prompt is unknown.
    """
    prompts = store or PromptAssetStore()
    pipes: dict[str, ClientPipe] = {}
    for name, metric in metrics.items():
        make = PIPE_REGISTRY.find(metric.pipe_name)
        config = {**metric.merged, **({"rules": rules} if rules else {})}
        if home is not None and is_file(config.get("rubric")):
            config["rubric"] = home / config["rubric"]
        try:
            info = PromptInfo.model_validate(config.get("prompt_info") or {})
        except ValidationError as error:
            raise UsageError(
                f"metric_configs.{name}.init_config.prompt_info{_first_problem(error)}, such as "
                "{prompt_id: vlm/assessment/visual_consistency/pairwise, version: v1}"
            ) from None
        template = prompts.get_prompt(info.prompt_id, info.version)
        replies = REPLIES.get(metric.pipe_name, "")
        if template.output_schema and not template.output_schema.startswith(
            replies
        ):
            raise UsageError(
                f"metric_configs.{name}: {metric.pipe_name} cannot use the prompt "
                f"{info.prompt_id}, whose replies have another form"
            )
        client = open_client(
            with_defaults(config), cache_dir=cache_dir, concurrency=concurrency
        )
        pipes[name] = make(template, config, client=client)
    return pipes

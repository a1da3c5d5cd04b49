"""Backend ``vllm``: a vLLM server at ``http://ip:port/v1``, the OpenAI protocol without a key."""

from __future__ import annotations

from typing import Any, ClassVar

from visualjudge.clients.api import ApiClient


class VllmClient(ApiClient):
    """A model behind a vLLM server.

    A schema is also sent as ``structured_outputs``, which vLLM enforces even if it does not enforce
    ``response_format``.

    Parameters
    ----------
    ip_address, port
        Address of the server; ``base_url`` takes precedence if given.
    api_key
        Needed only if the server was started with ``--api-key``. OpenAI's environment variables are
        ignored.
    options
        Options of :class:`ApiClient`.
    """

    backend: ClassVar[str] = "vllm"
    key_variables: ClassVar[tuple[str, ...]] = ()
    structured_outputs: ClassVar[bool] = True

    def _effort(self) -> dict[str, Any]:
        # Chat templates read ``enable_thinking`` (Qwen, GLM) or ``reasoning_effort`` (gpt-oss).
        effort = self.sampling.effort
        if effort is None:
            return {}
        told: dict[str, Any] = {"enable_thinking": effort != "none"}
        if isinstance(effort, int):
            told["thinking_budget"] = effort
        elif effort != "none":
            told["reasoning_effort"] = effort
        return {"chat_template_kwargs": told}

    def __init__(
        self,
        model_name: str,
        *,
        ip_address: str | None = None,
        port: int | str | None = None,
        base_url: str | None = None,
        **options: Any,
    ) -> None:
        at = f"http://{ip_address or '127.0.0.1'}:{port or 8000}/v1"
        super().__init__(model_name, base_url=base_url or at, **options)

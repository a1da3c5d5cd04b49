"""Backend ``vllm``: a vLLM server at ``http://ip:port/v1``, the OpenAI protocol without a key."""

from __future__ import annotations

from typing import Any, ClassVar

from visualjudge.clients.api import ApiClient


class VllmClient(ApiClient):
    """One model behind a vLLM server.

    A schema is sent as ``structured_outputs`` too, which vLLM enforces also where its
    ``response_format`` does not.

    Parameters
    ----------
    ip_address, port
        Where it listens; ``base_url``, if given, wins.
    api_key
        Only for a server started with ``--api-key``; OpenAI's variables are not looked at.
    options
        As :class:`ApiClient`.
    """

    backend: ClassVar[str] = "vllm"
    key_variables: ClassVar[tuple[str, ...]] = ()
    structured_outputs: ClassVar[bool] = True

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

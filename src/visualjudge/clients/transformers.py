"""Backend ``transformers``: local weights (``pip install visualjudge[transformers]``), imported on
first use.

AutoProcessor handles images and the chat template. Requests that arrive while the model is busy are
generated as one batch.
"""

from __future__ import annotations

import asyncio
import inspect
import io
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from visualjudge.clients.base import (
    Alternative,
    Diagnostics,
    Identity,
    ImagePart,
    Reply,
    Request,
    Token,
)
from visualjudge.clients.json_schemas import schema_notes
from visualjudge.clients.request_body import Effort, Sampling
from visualjudge.core.errors import TransportError, UsageError
from visualjudge.vision.raster.images import opened, rgb_of

DEFAULT_MAX_TOKENS = 16_384
NO_SCHEMA = "this backend does not enforce a schema; asked without"


@dataclass(eq=False, slots=True)
class _Waiting:
    request: Request
    answer: asyncio.Future[Reply]


@dataclass(slots=True)
class _Queue:
    """The queue of one event loop and the task that processes it."""

    waiting: list[_Waiting] = field(default_factory=list)
    worker: asyncio.Task[None] | None = None


class TransformersClient:
    """One vision-language model on this machine.

    Parameters
    ----------
    model_name
        Folder, or name on the Hugging Face Hub.
    device_map, dtype
        Arguments of ``from_pretrained``; ``"auto"`` uses accelerators if available.
    batch_size
        Maximum number of requests per batch.
    temperature, max_tokens, seed, top_p
        Defaults for requests that do not set them: greedy, 16,384 tokens, seed 0. Only requests
        with the same seed, temperature and length share a batch.
    trust_remote_code
        Whether to run code that comes with the weights.

    Raises
    ------
    UsageError
        If PyTorch or transformers is not installed; raised by the first request.
    """

    backend: ClassVar[str] = "transformers"

    def __init__(
        self,
        model_name: str,
        *,
        device_map: str | None = None,
        dtype: str = "auto",
        batch_size: int = 8,
        temperature: float | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
        top_p: float | None = None,
        effort: Effort | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        self.model = model_name
        self.sampling = Sampling(temperature, max_tokens, seed, top_p, effort)
        self._batch_size = max(1, int(batch_size))
        self._load_options = {"trust_remote_code": trust_remote_code}
        self._model_options = {"dtype": dtype} | ({"device_map": device_map} if device_map else {})
        self._queues: dict[asyncio.AbstractEventLoop, _Queue] = {}
        self._one_at_a_time = threading.Lock()

    @property
    def identity(self) -> Identity:
        return Identity(self.backend, None, self.model, self.sampling.as_dict())

    @property
    def diagnostics(self) -> Diagnostics:
        return Diagnostics()

    def __repr__(self) -> str:
        return f"TransformersClient(model_name={self.model!r})"

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """Return one reply, generated in a batch with other waiting requests.

        Raises
        ------
        UsageError
            If the libraries or the weights are missing.
        TransportError
            If generation fails.
        """
        loop = asyncio.get_running_loop()
        queue = self._queues.setdefault(loop, _Queue())
        item = _Waiting(self.sampling.complete(request), loop.create_future())
        queue.waiting.append(item)
        if queue.worker is None or queue.worker.done():
            queue.worker = loop.create_task(self._work(queue))
        return await item.answer

    async def aclose(self) -> None:
        queue = self._queues.pop(asyncio.get_running_loop(), None)
        if queue is not None and queue.worker is not None:
            queue.worker.cancel()

    async def _work(self, queue: _Queue) -> None:
        await asyncio.sleep(0)  # lets requests made in the same loop iteration join
        while queue.waiting:
            batch = _next_batch(queue.waiting, self._batch_size)
            try:
                replies = await asyncio.to_thread(self._generate, [item.request for item in batch])
            except UsageError as error:
                _fail(batch, error)
            except (
                Exception
            ) as error:  # any exception of the libraries fails this batch, not the run
                _fail(
                    batch,
                    TransportError(
                        f"generation failed: {type(error).__name__}: {error}", cause="generation"
                    ),
                )
            else:
                for item, reply in zip(batch, replies, strict=True):
                    if not item.answer.done():
                        item.answer.set_result(reply)

    @cached_property
    def _loaded(self) -> tuple[Any, Any, Any]:
        try:
            import torch
            from transformers import AutoModelForImageTextToText, AutoProcessor
        except ImportError:
            raise UsageError(
                "backend 'transformers' needs: pip install 'visualjudge[transformers]'"
            ) from None
        try:
            processor = AutoProcessor.from_pretrained(self.model, **self._load_options)
            model = AutoModelForImageTextToText.from_pretrained(
                self.model, **self._load_options, **self._model_options
            ).eval()
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{self.model}: cannot be loaded: {' '.join(str(error).split())[:300]}"
            ) from None
        tokenizer = processor.tokenizer
        tokenizer.padding_side = "left"  # pad left, so that each reply directly follows its prompt
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        return torch, processor, model

    def _generate(self, requests: Sequence[Request]) -> list[Reply]:
        with self._one_at_a_time:
            torch, processor, model = self._loaded
            inputs = processor.apply_chat_template(
                [_messages(request) for request in requests],
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
                **_padded(processor),
                **self._template_options(),
            ).to(model.device)
            with torch.inference_mode():
                torch.manual_seed(requests[0].seed or 0)
                output = model.generate(**inputs, **self._how(requests[0], processor))
            new = output.sequences[:, inputs["input_ids"].shape[1] :]
            prompts = inputs["attention_mask"].sum(dim=1).tolist()
            return [self._reply(r, i, new[i], output, prompts[i]) for i, r in enumerate(requests)]

    def _template_options(self) -> dict[str, Any]:
        # Chat templates of models that think read ``enable_thinking`` or ``reasoning_effort``.
        effort = self.sampling.effort
        if effort is None:
            return {}
        named = {} if effort == "none" or isinstance(effort, int) else {"reasoning_effort": effort}
        return {"enable_thinking": effort != "none", **named}

    def _how(self, request: Request, processor: Any) -> dict[str, Any]:
        hot = bool(request.temperature)
        sampled = (
            {"temperature": request.temperature, "top_p": self.sampling.top_p or 1.0} if hot else {}
        )
        return {
            "max_new_tokens": request.max_tokens or DEFAULT_MAX_TOKENS,
            "do_sample": hot,
            "pad_token_id": processor.tokenizer.pad_token_id,
            "return_dict_in_generate": True,
            "output_logits": request.top_logprobs is not None,
            **sampled,
        }

    def _reply(self, request: Request, place: int, new: Any, output: Any, prompt: int) -> Reply:
        # Return the reply in one row: cut at the end token, decoded; "length" if there is no end
        # token.
        _, processor, model = self._loaded
        ends = np.atleast_1d(
            model.generation_config.eos_token_id or processor.tokenizer.eos_token_id
        )
        ids = new.tolist()
        stop = next((i for i, token in enumerate(ids) if token in ends), None)
        kept = ids if stop is None else ids[:stop]
        text = processor.tokenizer.decode(kept, skip_special_tokens=True)
        tokens = None
        if request.top_logprobs is not None:
            tokens = tuple(
                self._token(output.logits[i][place], token, request.top_logprobs)
                for i, token in enumerate(kept)
            )
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": len(kept),
            "total_tokens": prompt + len(kept),
        }
        notes = (
            (NO_SCHEMA, *schema_notes(text, request.schema)) if request.schema is not None else ()
        )
        return Reply(text, "length" if stop is None else "stop", usage, tokens, notes)

    def _token(self, logits: Any, token: int, top: int) -> Token:
        torch, processor, _ = self._loaded
        logprobs = torch.log_softmax(logits.float(), dim=-1)
        best = torch.topk(logprobs, min(max(top, 1), logprobs.shape[-1]))

        def name(number: int) -> str:
            return str(processor.tokenizer.decode([number]))

        others = tuple(
            Alternative(name(int(i)), float(p))
            for p, i in zip(best.values, best.indices, strict=True)
        )
        return Token(name(token), float(logprobs[token]), others if top else ())


def _padded(processor: Any) -> dict[str, Any]:
    # Return the padding options. Since version 5, processor options go into a separate dict.
    named = inspect.signature(processor.apply_chat_template).parameters
    return (
        {"processor_kwargs": {"padding": True}}
        if "processor_kwargs" in named
        else {"padding": True}
    )


def _next_batch(waiting: list[_Waiting], size: int) -> list[_Waiting]:
    # Remove and return the first waiting request and all that can be generated with it.
    first = _shared(waiting[0].request)
    batch = [item for item in waiting if _shared(item.request) == first][:size]
    for item in batch:
        waiting.remove(item)
    return batch


def _shared(request: Request) -> tuple[Any, ...]:
    # Return the settings shared by one call of generate. A sampled reply must not depend on the
    # other requests in its batch.
    alone = id(request) if request.temperature else None
    return request.temperature, request.max_tokens, request.seed, request.top_logprobs, alone


def _fail(batch: Sequence[_Waiting], error: Exception) -> None:
    for item in batch:
        if not item.answer.done():
            item.answer.set_exception(error)


def _messages(request: Request) -> list[Mapping[str, Any]]:
    content = [
        {"type": "image", "image": _image(part)}
        if isinstance(part, ImagePart)
        else {"type": "text", "text": part.text}
        for part in request.parts
    ]
    system = (
        [{"role": "system", "content": [{"type": "text", "text": request.system}]}]
        if request.system
        else []
    )
    return [*system, {"role": "user", "content": content}]


def _image(part: ImagePart) -> Image.Image:
    with opened(io.BytesIO(part.data), "image") as image:
        return Image.fromarray(rgb_of(image))

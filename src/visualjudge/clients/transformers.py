"""Backend ``transformers``: local weights (``pip install visualjudge[transformers]``), imported on
first use.

AutoProcessor handles images and the chat template. Requests that arrive while the model is busy are
generated as one batch.
"""

from __future__ import annotations

import asyncio
import inspect
import io
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
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
    answer: Future[Reply]


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
        self._waiting: list[_Waiting] = []
        self._worker = ThreadPoolExecutor(1, "visualjudge-transformers")

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
        item = _Waiting(self.sampling.complete(request), Future())
        self._waiting.append(item)
        await asyncio.sleep(0)  # lets requests made in the same loop iteration join
        self._worker.submit(self._work)
        return await asyncio.wrap_future(item.answer)

    async def aclose(self) -> None:
        while self._waiting:
            self._waiting.pop().answer.cancel()

    def _work(self) -> None:
        # Generate the first waiting request and all that can share its batch.
        shared = [_shared(item.request) for item in self._waiting[:1]]
        batch = [item for item in list(self._waiting) if [_shared(item.request)] == shared]
        batch = batch[: self._batch_size]
        for item in batch:
            self._waiting.remove(item)
        batch = [item for item in batch if item.answer.set_running_or_notify_cancel()]
        if not batch:
            return
        try:
            replies = self._generate([item.request for item in batch])
        except Exception as error:  # any exception of the libraries fails this batch, not the run
            message = f"generation failed: {type(error).__name__}: {error}"
            known = isinstance(error, UsageError)
            failure = error if known else TransportError(message, cause="generation")
            for item in batch:
                item.answer.set_exception(failure)
        else:
            for item, reply in zip(batch, replies, strict=True):
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
        how = {
            "max_new_tokens": request.max_tokens or DEFAULT_MAX_TOKENS,
            "do_sample": bool(request.temperature),
            "pad_token_id": processor.tokenizer.pad_token_id,
            "return_dict_in_generate": True,
            "output_logits": request.top_logprobs is not None,
        }
        if request.temperature:
            how |= {"temperature": request.temperature, "top_p": request.top_p or 1.0}
        return how

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


def _shared(request: Request) -> tuple[Any, ...]:
    # Return the settings shared by one call of generate. A sampled reply must not depend on the
    # other requests in its batch.
    alone = id(request) if request.temperature else None
    return request.temperature, request.max_tokens, request.seed, request.top_logprobs, alone


def _messages(request: Request) -> list[Mapping[str, Any]]:
    system = [{"type": "text", "text": request.system}] if request.system else []
    content = [
        {"type": "image", "image": _image(part)}
        if isinstance(part, ImagePart)
        else {"type": "text", "text": part.text}
        for part in request.parts
    ]
    turns = [("system", system), ("user", content)]
    return [{"role": role, "content": parts} for role, parts in turns if parts]


def _image(part: ImagePart) -> Image.Image:
    with opened(io.BytesIO(part.data), "image") as image:
        return Image.fromarray(rgb_of(image))

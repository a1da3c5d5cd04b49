"""Backend ``transformers``: local weights (``pip install visualjudge[transformers]``),
imported on first use. Reward models are in ``judges/reward_model.py``.

AutoProcessor handles images and the chat template. Requests are generated one after
another; for many questions, serve the weights with vLLM.
"""

import asyncio
import io
from concurrent.futures import ThreadPoolExecutor
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
from visualjudge.clients.protocol_fields import (
    Effort,
    completed,
    schema_notes,
    stated,
)
from visualjudge.core.errors import TransportError, UsageError
from visualjudge.core.jsons import Fields, Json
from visualjudge.vision.raster.images import opened, rgb_of

DEFAULT_MAX_TOKENS = 16_384
NO_SCHEMA = "this backend does not enforce a schema; asked without"


class TransformersClient:
    """One vision-language model on this machine.

    Parameters
    ----------
    model_name
        Folder, or name on the Hugging Face Hub.
    device_map, dtype
        Arguments of ``from_pretrained``; ``"auto"`` uses accelerators if available.
    temperature, max_tokens, seed, top_p
        Defaults for requests that do not set them: greedy, 16,384 tokens, seed 0.
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
        temperature: float | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
        top_p: float | None = None,
        effort: Effort | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        self.model = model_name
        self.defaults = stated(
            {
                "temperature": temperature,
                "max_tokens": max_tokens,
                "seed": seed,
                "top_p": top_p,
            }
        )
        self.effort = effort
        self._load_options = {"trust_remote_code": trust_remote_code}
        self._model_options = {"dtype": dtype} | (
            {"device_map": device_map} if device_map else {}
        )
        self._worker = ThreadPoolExecutor(1, "visualjudge-transformers")

    @property
    def identity(self) -> Identity:
        return Identity(
            self.backend,
            None,
            self.model,
            self.defaults | stated({"effort": self.effort}),
        )

    @property
    def diagnostics(self) -> Diagnostics:
        return Diagnostics()

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """Return one reply.

        Raises
        ------
        UsageError
            If the libraries or the weights are missing.
        TransportError
            If generation fails.
        """
        full = completed(request, self.defaults)
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._worker, self._generate, full
            )
        except UsageError:
            raise
        # any exception of the libraries fails this request, not the run
        except Exception as error:
            message = f"generation failed: {type(error).__name__}: {error}"
            raise TransportError(message, cause="generation") from None

    async def aclose(self) -> None:
        """Do nothing: the weights stay loaded."""

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
            processor = AutoProcessor.from_pretrained(
                self.model, **self._load_options
            )
            model = AutoModelForImageTextToText.from_pretrained(
                self.model, **self._load_options, **self._model_options
            ).eval()
        except (ImportError, OSError, ValueError) as error:
            raise UsageError(
                f"{self.model}: cannot be loaded: {' '.join(str(error).split())[:300]}"
            ) from None
        return torch, processor, model

    def _generate(self, request: Request) -> Reply:
        torch, processor, model = self._loaded
        inputs = processor.apply_chat_template(
            [_messages(request)],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            **self._template_options(),
        ).to(model.device)
        with torch.inference_mode():
            torch.manual_seed(
                request.repeat if request.seed is None else request.seed
            )
            output = model.generate(**inputs, **self._how(request, processor))
        prompt = inputs["input_ids"].shape[1]
        return self._reply(
            request, output.sequences[0, prompt:].tolist(), output, prompt
        )

    def _template_options(self) -> Json:
        # Chat templates of models that think read ``enable_thinking`` or
        # ``reasoning_effort``.
        effort = self.effort
        named = (
            {"reasoning_effort": effort}
            if effort in ("low", "medium", "high")
            else {}
        )
        return (
            {}
            if effort is None
            else {"enable_thinking": effort != "none", **named}
        )

    def _how(self, request: Request, processor: Any) -> Json:
        how = {
            "max_new_tokens": request.max_tokens or DEFAULT_MAX_TOKENS,
            "do_sample": bool(request.temperature),
            "pad_token_id": processor.tokenizer.pad_token_id
            or processor.tokenizer.eos_token_id,
            "return_dict_in_generate": True,
            "output_logits": request.top_logprobs is not None,
        }
        if request.temperature:
            how |= {
                "temperature": request.temperature,
                "top_p": request.top_p or 1.0,
            }
        return how

    def _reply(
        self, request: Request, ids: list[int], output: Any, prompt: int
    ) -> Reply:
        # Return the reply, cut at the end token; "length" if there is none.
        _, processor, model = self._loaded
        ends = np.atleast_1d(
            model.generation_config.eos_token_id
            or processor.tokenizer.eos_token_id
        )
        stop = next((i for i, token in enumerate(ids) if token in ends), None)
        text = processor.tokenizer.decode(ids[:stop], skip_special_tokens=True)
        tokens = None
        if request.top_logprobs is not None:
            tokens = tuple(
                self._token(output.logits[i][0], token, request.top_logprobs)
                for i, token in enumerate(ids[:stop])
            )
        length = len(ids[:stop])
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": length,
            "total_tokens": prompt + length,
        }
        schema = request.schema
        notes = (
            () if schema is None else (NO_SCHEMA, *schema_notes(text, schema))
        )
        return Reply(
            text, "length" if stop is None else "stop", usage, tokens, notes
        )

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


def _messages(request: Request) -> list[Fields]:
    system = (
        [{"type": "text", "text": request.system}] if request.system else []
    )
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

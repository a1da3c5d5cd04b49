"""PROMPT: versioned prompt assets and the prompts that are built from them.

An asset is ``assets/<prompt_id>/<version>.yaml``; no prompt text lives in code.
"""

from visualjudge.prompts.store import (
    PromptAssetStore as PromptAssetStore,
    PromptTemplate as PromptTemplate,
)

__all__ = ["PromptAssetStore", "PromptTemplate"]

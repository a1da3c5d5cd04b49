"""PROMPT: versioned prompt assets and the prompts that are built from them.

An asset is ``assets/<prompt_id>/<version>.yaml``; no prompt text lives in code. For a
dataset's questions, ``assets/questions/layout`` has the sentences of pairwise, ranking
and scoring prompts, ``context`` those about the task, and ``format`` those about each
encoding.
"""

from visualjudge.prompts.store import (
    PromptAssetStore as PromptAssetStore,
    PromptTemplate as PromptTemplate,
)

__all__ = ["PromptAssetStore", "PromptTemplate"]

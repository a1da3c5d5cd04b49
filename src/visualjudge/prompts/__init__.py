"""PROMPT: versioned prompt assets and the prompts that are built from them.

An asset is ``assets/<prompt_id>/<version>.yaml``; no prompt text lives in code. Of a dataset's
questions, ``assets/questions/layout`` has the sentences of pairwise, ranking and scoring prompts,
``context`` those on the task, ``format`` those on each encoding.
"""

from visualjudge.prompts.store import (
    PromptAssetStore as PromptAssetStore,
    PromptTemplate as PromptTemplate,
)

__all__ = ["PromptAssetStore", "PromptTemplate"]

"""Questions with graded ground truth as verifiable rewards, and as rows for the trainers that people use.

::

    reward     a reply against its question: one number, also with the signature that each trainer calls
    hard       pairs at a judge's own threshold
    endless    questions about errors that are drawn anew, without end
    exports    rows of TRL, verl, EasyR1, ms-swift, LLaMA-Factory, verifiers; train and test by image
"""

"""Questions with graded ground truth as verifiable rewards, and as rows for the trainers that
people use.

::

    reward     a reply against its question: one number trainers   the same with the signature that
    each trainer calls; trainers load this file by its path hard       pairs at a judge's own
    threshold endless    questions about errors that are drawn anew, without end exports    rows of
    TRL, verl, EasyR1, ms-swift, LLaMA-Factory, verifiers; train and test by image
"""

"""Questions with graded ground truth as verifiable rewards, and as rows for common trainers.

::

    reward               a reply compared with its question: one number
    trainer_rewards      the same with each trainer's signature; trainers load this file by its path
    hard_pairs           pairs near a judge's own threshold
    endless_questions    endless questions about newly drawn errors
    trainer_exports      rows of TRL, verl, EasyR1, ms-swift, LLaMA-Factory, verifiers;
                         train and test split by image
    conversations        a run's conversations with tools
"""

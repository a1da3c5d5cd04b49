"""Verifiable rewards for training judges: ``reward(reply, question)``, and the functions called by
trainers.
"""

from __future__ import annotations

from visualjudge.apps.training.reward import Weights, reward, reward_both
from visualjudge.apps.training.trainer_rewards import (
    easyr1_compute_score,
    swift_reward,
    trl_reward,
    verifiers_reward,
    verl_compute_score,
)

__all__ = [
    "Weights",
    "easyr1_compute_score",
    "reward",
    "reward_both",
    "swift_reward",
    "trl_reward",
    "verifiers_reward",
    "verl_compute_score",
]

"""Verifiable rewards for training judges: ``reward(reply, question)``, and TRL's
function. They are computed in ``apps/connectors/training_rewards.py``.
"""

from visualjudge.apps.connectors.training_rewards import reward, trl_reward

__all__ = ["reward", "trl_reward"]

"""Verifiable rewards for training judges: ``reward(reply, question)``, and TRL's
function."""

from visualjudge.apps.connectors.training_rewards import reward, trl_reward

__all__ = ["reward", "trl_reward"]

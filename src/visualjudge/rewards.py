"""Verifiable rewards for training judges: ``reward(reply, question)``, and TRL's function."""

from __future__ import annotations

from visualjudge.apps.training import reward, trl_reward

__all__ = ["reward", "trl_reward"]

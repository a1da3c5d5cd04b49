"""Runs over a provider's batch interface: a ledger of what was submitted, and rounds of
submitting and collecting."""

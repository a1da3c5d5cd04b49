"""A run over a provider's batches: a ledger of what was submitted, and the rounds of asking."""

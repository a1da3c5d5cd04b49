"""Asking by a provider's batches: a client whose wire is a batch, and the interfaces of the
providers.
"""

"""Batches: a client that sends requests in a provider's batches, and the interfaces of the
providers.
"""

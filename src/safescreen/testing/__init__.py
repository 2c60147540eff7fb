"""Slow, obvious, independent: for tests, benchmarks and sceptics."""

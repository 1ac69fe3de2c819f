"""The release check: it verifies the guarantees in the written file and looks for other disclosures.

It shares no code with the methods and measures, so it finds their mistakes. `check` compares a release with its
original, and `saving` gives a file its final name only if all guarantees hold.
"""

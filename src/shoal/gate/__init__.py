"""The release check: verifies the guarantees in the written file itself, and looks for other disclosures.

It shares no code with the methods and measures, so it finds their mistakes. `check` compares a release with its
original, and `saving` gives a file its final name only if it keeps its guarantees.
"""

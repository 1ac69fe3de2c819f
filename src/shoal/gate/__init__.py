"""The release gate: what a release promises and what can still leak, looked for in the released file itself.

Nothing here is shared with the methods or with the measures: what they got wrong, they cannot hide. `check` compares a
release with its original, `saving` lets a file take its place only when it keeps its promises.
"""

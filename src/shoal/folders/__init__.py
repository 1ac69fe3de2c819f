"""Data in many files, larger than memory: staged results, the release of a folder, its check and its recipe."""

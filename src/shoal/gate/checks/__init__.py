"""The checks of a release, one file per kind: what is guaranteed, and what may disclose all the same."""

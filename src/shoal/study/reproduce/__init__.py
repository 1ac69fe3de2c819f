"""The papers' tables, made again: one file an entry."""

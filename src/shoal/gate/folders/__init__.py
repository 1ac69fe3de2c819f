"""The check of a release in many files: each file as it was written, then classes and linkage over all of them.

by_file    rows, columns, unchanged cells, identifiers and metadata of one file; its tuples go to staged files
recount    k and unique records over all files, by whole tuples
linkage    people found among the tuples of all files
whole      the findings: from the counts, and from the drawn records, which are all records of a small table
"""

"""Microaggregation of many files: each leaf of a tree over the records is searched by itself, larger than memory.

    read every input file once; draw a sample by the number of the row
    a tree over the sample sends each record to a leaf of near records; each leaf is searched (Domingo-Ferrer,
    Martinez-Balleste, Mateo-Sanz and Sebe 2006 divide a file in the same way)
    rounds: whole groups go to the leaves of another tree, and are annealed across the borders of the leaves before

Everything depends on the rows, their numbers and the seed: never on the workers, nor on how rows are split into files.
"""

"""Local recoding of many files: each leaf of a tree over the records is searched by itself, larger than memory.

    read every input file once; join the values of each column over all files, and replace them by codes
    cuts from the top, each at the least loss of a drawn sample, send each record to a leaf; each leaf is searched
    rounds: whole groups go to the leaves of another tree, and are rebuilt across the borders of the leaves before
    label: the text of each interval and set of values, the same for the groups of all leaves

Everything depends on the rows, their numbers and the seed: never on the workers, nor on how rows are split into files.
"""

"""MDAV in blocks, then annealing over the whole file (`engine/partition/search/blocks.py`)."""

from shoal.engine.partition.search import blocks as search
from shoal.protections.microaggregation.methods.searching import SearchMethod

blocks = SearchMethod(search.blocks)

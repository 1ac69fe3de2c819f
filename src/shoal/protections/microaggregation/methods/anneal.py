"""Simulated annealing from MDAV's groups (`engine/partition/search/anneal.py`)."""

from shoal.engine.partition.search import anneal as search
from shoal.protections.microaggregation.methods.searching import SearchMethod

anneal = SearchMethod(search.anneal)

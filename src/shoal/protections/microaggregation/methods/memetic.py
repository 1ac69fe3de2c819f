"""The memetic search from MDAV's groups (`engine/partition/search/memetic.py`)."""

from shoal.engine.partition.search import memetic as search
from shoal.protections.microaggregation.methods.searching import SearchMethod

memetic = SearchMethod(search.memetic)

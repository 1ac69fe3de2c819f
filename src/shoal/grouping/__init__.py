"""Which columns are microaggregated together: the search for the best balance of loss and risk (spec/2)."""

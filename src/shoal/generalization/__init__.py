"""Where each attribute's domain is cut: k-anonymity by one generalization for the whole table (spec/3)."""

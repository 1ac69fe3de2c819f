"""Generalization: values replaced by categories of a domain, the same for the whole file."""

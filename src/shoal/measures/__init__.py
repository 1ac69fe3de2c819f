"""Measures of information loss and of disclosure risk, one module per family."""

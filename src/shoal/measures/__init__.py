"""Measures of information loss and of disclosure risk."""

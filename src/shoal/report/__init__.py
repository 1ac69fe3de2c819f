"""Standalone HTML pages that work offline."""

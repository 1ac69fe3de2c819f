"""Standalone HTML reports that work offline."""

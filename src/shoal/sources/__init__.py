"""Files: one module for each format, reading, writing, and what a format cannot keep."""

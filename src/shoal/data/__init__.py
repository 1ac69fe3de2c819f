"""Files and frames in, arrays out, and the same kind of frame back."""

"""What the searches share: progress, clocks, and (with the first search) loops and selection."""

"""How kernels are compiled, and the compiled functions that several packages share."""

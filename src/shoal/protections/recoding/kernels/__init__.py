"""Kernels of local recoding: the losses of its groups, and the searches that only recoding has."""

"""What all searches share: control, progress, trace, Pareto fronts, the search over partitions, kernels."""

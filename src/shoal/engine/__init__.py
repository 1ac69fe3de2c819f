"""What every search shares: control, progress, trace, clock, sorting of fronts, compiled kernels."""

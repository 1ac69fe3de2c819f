"""One folder for each protection, with its search, its kernels and its section of the report."""

"""One file a published table or set of experiments: our figures beside the printed ones."""

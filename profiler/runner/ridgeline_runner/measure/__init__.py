"""Measurements without the user's code: operations, kernels, the network. Some files are programs of their own."""

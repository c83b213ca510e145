"""The step's parts as Triton kernels; each has its plain counterpart in plain_ops."""

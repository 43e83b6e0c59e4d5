"""Peak rates of machines, and kernels measured against them."""

"""Common code of the GPU backends: one lowering with three dialects (CUDA, HIP, OpenCL), buffers and launches."""

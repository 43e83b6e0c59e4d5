#define KERNEL(threads, groups) extern "C" __global__ __launch_bounds__(threads, groups)
#define GLOBAL
#define LOCAL
#define CONSTANT __constant__
#define RESTRICT __restrict__
#define SHARED_ARGUMENT
#define SHARED_ARRAY extern __shared__ R shared[];
#define THREAD ((int)threadIdx.x)
#define GROUP ((int)blockIdx.x)
#define BARRIER __syncthreads()
#ifndef INFINITY
#define INFINITY (1.0 / 0.0)
#define NAN (0.0 / 0.0)
#endif

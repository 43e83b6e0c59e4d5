#define KERNEL(threads, groups) extern "C" __global__ __launch_bounds__(threads, groups)
#define DEVICE __device__ static inline
#define GLOBAL
#define LOCAL
#define CONSTANT __constant__
#define RESTRICT __restrict__
/* A structure that is indexed by a loop stays where arguments are, instead of in a copy of every thread's own. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
#define UNCHANGED __grid_constant__
#else
#define UNCHANGED
#endif
#define SHARED_ARGUMENT
#define SHARED_ARRAY extern __shared__ R shared[];
#define THREAD ((int)threadIdx.x)
#define GROUP ((int)blockIdx.x)
#define BARRIER __syncthreads()
#ifndef INFINITY
#define INFINITY (1.0 / 0.0)
#define NAN (0.0 / 0.0)
#endif

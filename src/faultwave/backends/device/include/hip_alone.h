/* What kernels need of HIP where only a compiler is there, without AMD's headers and library of functions. */
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(threads, groups) __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(groups)))
__device__ static inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
struct Place { unsigned x; };
#define threadIdx (Place{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (Place{__builtin_amdgcn_workgroup_id_x()})
__device__ static inline float fabs(float x) { return __builtin_fabsf(x); }
__device__ static inline double fabs(double x) { return __builtin_fabs(x); }
__device__ static inline float sqrt(float x) { return __builtin_sqrtf(x); }
__device__ static inline double sqrt(double x) { return __builtin_sqrt(x); }
#define FREXP_EXP __builtin_amdgcn_frexp_exp
#define FREXP_MANT __builtin_amdgcn_frexp_mant

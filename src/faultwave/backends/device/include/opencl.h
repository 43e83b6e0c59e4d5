#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define KERNEL(threads, groups) __kernel __attribute__((reqd_work_group_size(threads, 1, 1)))
#define DEVICE static
#define GLOBAL __global
#define LOCAL __local
#define CONSTANT __constant
#define RESTRICT restrict
#define UNCHANGED
#define SHARED_ARGUMENT , __local R *shared
#define SHARED_ARRAY
#define THREAD ((int)get_local_id(0))
#define GROUP ((int)get_group_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

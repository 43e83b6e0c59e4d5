/* a b + c, rounded once where the processor can. -ffp-contract=off keeps the compiler from joining products and sums by itself. */
#if defined(__AVX512F__) && LANES * (R_IS_DOUBLE + 1) == 16
#if R_IS_DOUBLE
F V fused(V a, V b, V c) { return (V)X86(__builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4), _mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c)); }
#else
F V fused(V a, V b, V c) { return (V)X86(__builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4), _mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c)); }
#endif
#elif defined(__FMA__) && LANES * (R_IS_DOUBLE + 1) == 8
#if R_IS_DOUBLE
F V fused(V a, V b, V c) { return (V)X86(__builtin_ia32_vfmaddpd256(a, b, c), _mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c)); }
#else
F V fused(V a, V b, V c) { return (V)X86(__builtin_ia32_vfmaddps256(a, b, c), _mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c)); }
#endif
#elif defined(__aarch64__) && LANES * (R_IS_DOUBLE + 1) == 4
#include <arm_neon.h>
#if R_IS_DOUBLE
F V fused(V a, V b, V c) { return (V)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b); }
#else
F V fused(V a, V b, V c) { return (V)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
#endif
#else
F V fused(V a, V b, V c) { return a * b + c; }
#endif

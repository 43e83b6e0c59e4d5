#include <math.h>
#include <omp.h>
/* Other compilers (clang, Intel's icc, NVIDIA's nvc) also define __GNUC__ but lack some of GCC's built-in functions. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__INTEL_COMPILER) && !defined(__NVCOMPILER)
#define IS_GCC 1
#else
#define IS_GCC 0
#endif
/* Instructions without an expression in C. With GCC its built-in functions are used: reading <immintrin.h> takes a fifth of a second, a
   third of the compile time of most kernels. */
#ifdef __AVX__
#if IS_GCC
#define X86(of_gcc, of_others) (of_gcc)
#else
#include <immintrin.h>
#define X86(of_gcc, of_others) (of_others)
#endif
#endif
/* Each thread its own part where memory has a place; else whoever is free takes its share of what is left, at least two batches where
   there is more than one for each: all end together, and most of what a thread fetches ahead is its own. */
int placed;
static void share_out(long batches) {
  omp_set_schedule(placed ? omp_sched_static : omp_sched_guided, placed ? 0 : batches > omp_get_max_threads() ? 2 : 1);
}
/* Vectors of LANES numbers and the functions of kernel formulas on them. */
typedef R V __attribute__((vector_size(LANES * sizeof(R))));
#if R_IS_DOUBLE
typedef long I;
#else
typedef int I;
#endif
typedef I VM __attribute__((vector_size(LANES * sizeof(R))));
typedef R VU __attribute__((vector_size(LANES * sizeof(R)), aligned(sizeof(R)))); /* anywhere in memory */
#define SPLAT(x) ((R)(x) - (V){0}) /* x - 0 is x, also for -0 */
#define ALL ((VM){0} - 1)
#define SELECT(m, a, b) ((V)(((m) & (VM)(a)) | (~(m) & (VM)(b))))
/* Into the second-level cache: the first is too small for a batch to come. */
#define FETCH(p) __builtin_prefetch(p, 0, 2)
#define FETCH_ALL(p, bytes) for (const char *a = (const char *)(p), *e = a + (bytes); a < e + 63; a += 64) FETCH(a)
#define F static inline __attribute__((always_inline, unused))

#if defined(__AVX__) && R_IS_DOUBLE && LANES == 4
F int v_any(VM m) { return X86(__builtin_ia32_movmskpd256((V)m), _mm256_movemask_pd((__m256d)m)) != 0; }
#elif defined(__AVX512F__) && R_IS_DOUBLE && LANES == 8
typedef long long LL __attribute__((vector_size(64)));
F int v_any(VM m) {
  return X86(__builtin_ia32_ptestmq512((LL)m, (LL)m, 255), _mm512_test_epi64_mask((__m512i)m, (__m512i)m)) != 0;
}
#elif defined(__AVX__) && !R_IS_DOUBLE && LANES == 8
F int v_any(VM m) { return X86(__builtin_ia32_movmskps256((V)m), _mm256_movemask_ps((__m256)m)) != 0; }
#elif defined(__AVX512F__) && !R_IS_DOUBLE && LANES == 16
F int v_any(VM m) { return X86(__builtin_ia32_ptestmd512(m, m, 65535), _mm512_test_epi32_mask((__m512i)m, (__m512i)m)) != 0; }
#else
F int v_any(VM m) { I any = 0; for (int i = 0; i < LANES; ++i) any |= m[i]; return any != 0; }
#endif
/* A NaN on either side stays a NaN, as in NumPy. */
F V v_minimum(V a, V b) { return SELECT((a < b) | (a != a), a, b); }
F V v_maximum(V a, V b) { return SELECT((a > b) | (a != a), a, b); }
#if R_IS_DOUBLE
#define MAGNITUDE 0x7fffffffffffffffL
#define BIAS 1023
#define MANTISSA 52
#define EXP_TOP 709.782712893383973096
#define EXP_LOW -745.13321910194122
#define EXP_HALF 700.0
#define ROOT_HALF 0x3fe6a09e667f3bcdL /* the bits of sqrt(1/2) */
#define LARGEST 1.7976931348623157e308
#define EXPM1_LOW -40.0
#define EXPM1_TINY 1e-17
#define EXPM1_FINE 1000.0
#define SMALLEST_NORMAL 2.2250738585072014e-308
#define LN2_HI 6.93147180369123816490e-01
#define LN2_LO 1.90821492927058770002e-10
#else
#define MAGNITUDE 0x7fffffff
#define BIAS 127
#define MANTISSA 23
#define EXP_TOP 88.7228317f
#define EXP_LOW -103.972076f
#define EXP_HALF 80.0f
#define ROOT_HALF 0x3f3504f3
#define LARGEST 3.40282347e38f
#define EXPM1_LOW -20.0f
#define EXPM1_TINY 1e-9f
#define EXPM1_FINE 100.0f
#define SMALLEST_NORMAL 1.17549435e-38f
#define LN2_HI 6.9313812256e-01f
#define LN2_LO 9.0580006145e-06f
#endif
F V v_abs(V a) { return (V)((VM)a & ((VM){0} + MAGNITUDE)); }
#if defined(__AVX__) && R_IS_DOUBLE && LANES == 4
F V v_sqrt(V a) { return (V)X86(__builtin_ia32_sqrtpd256(a), _mm256_sqrt_pd((__m256d)a)); }
#elif defined(__AVX512F__) && R_IS_DOUBLE && LANES == 8
F V v_sqrt(V a) { return (V)X86(__builtin_ia32_sqrtpd512_mask(a, a, 255, 4), _mm512_sqrt_pd((__m512d)a)); }
#elif defined(__AVX__) && !R_IS_DOUBLE && LANES == 8
F V v_sqrt(V a) { return (V)X86(__builtin_ia32_sqrtps256(a), _mm256_sqrt_ps((__m256)a)); }
#elif defined(__AVX512F__) && !R_IS_DOUBLE && LANES == 16
F V v_sqrt(V a) { return (V)X86(__builtin_ia32_sqrtps512_mask(a, a, 65535, 4), _mm512_sqrt_ps((__m512)a)); }
#else
F V v_sqrt(V a) {
  V r;
  for (int i = 0; i < LANES; ++i) r[i] = R_IS_DOUBLE ? sqrt(a[i]) : sqrtf(a[i]);
  return r;
}
#endif
/* 2^k for |k| within the exponents of normal numbers. */
F V v_power_of_two(VM k) { return (V)((k + BIAS) << MANTISSA); }
/* Whole numbers between -2^22 and 2^22 as integers, and back. Without AVX-512 doubles have no instruction for it: added to a
   number so large that its last bit is 1, they stand in the last bits. */
#if defined(__AVX512DQ__) || !R_IS_DOUBLE
F VM v_integer(V k) { return __builtin_convertvector(k, VM); }
F V v_real(VM k) { return __builtin_convertvector(k, V); }
#else
#define LAST_BIT_ONE SPLAT(6755399441055744.0)
F VM v_integer(V k) { return (VM)(k + LAST_BIT_ONE) - (VM)LAST_BIT_ONE; }
F V v_real(VM k) { return (V)(k + (VM)LAST_BIT_ONE) - LAST_BIT_ONE; }
#endif
/* c[0] + c[1] x + ... as the sum of its even and its odd part, which the processor computes side by side. */
#define SERIES(c, x) v_series(c, (int)(sizeof(c) / sizeof(R)), x)
F V v_series(const R *c, int terms, V x) {
  const V square = x * x;
  V even = SPLAT(0.0), odd = SPLAT(0.0);
  for (int i = (terms - 1) & ~1; i >= 0; i -= 2) even = even * square + c[i];
  for (int i = (terms - 2) | 1; i >= 1; i -= 2) odd = odd * square + c[i];
  return even + x * odd;
}
#if R_IS_DOUBLE
/* Of (e^r - 1 - r)/r^2: 1/2!, 1/3!, ... */
static const R EXP_SERIES[] = {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
                               1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
/* Of (atanh(s)/s - 1)/s^2 in s^2. */
static const R LOG_SERIES[] = {1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
#else
static const R EXP_SERIES[] = {1.0f / 2, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720, 1.0f / 5040, 1.0f / 40320};
static const R LOG_SERIES[] = {1.0f / 3, 1.0f / 5, 1.0f / 7, 1.0f / 9, 1.0f / 11, 1.0f / 13};
#endif
/* x = k ln2 + r, |r| <= ln2/2: k, and e^r - 1 by its Taylor series. */
F V v_reduced(V x, V *k) {
  const V shift = SPLAT(R_IS_DOUBLE ? 6755399441055744.0 : 12582912.0);
  *k = (x * (R)1.44269504088896340736 + shift) - shift;
  const V r = (x - *k * (R)LN2_HI) - *k * (R)LN2_LO;
  return r + r * r * SERIES(EXP_SERIES, r);
}
/* y 2^k in two factors: both ends of the range, denormal numbers included, come out as those of the scalar function. */
F V v_scaled(V y, V k) {
  const VM whole = v_integer(k), half = whole >> 1;
  return y * v_power_of_two(half) * v_power_of_two(whole - half);
}
/* Functions do without what only numbers at the ends of the range need, where none of a vector is of them. */
#define SELDOM(m) __builtin_expect(v_any(m), 0)
F V v_exp_of_any(V x) {
  V k, small = v_reduced(v_minimum(v_maximum(x, SPLAT(EXP_LOW)), SPLAT(EXP_TOP)), &k);
  V y = v_scaled((R)1.0 + small, k);
  y = SELECT(x < SPLAT(EXP_LOW), SPLAT(0.0), y);
  y = SELECT(x > SPLAT(EXP_TOP), SPLAT(INFINITY), y);
  return SELECT(x != x, x, y);
}
F V v_exp(V x) {
  if (SELDOM(~(v_abs(x) < SPLAT(EXP_HALF)))) return v_exp_of_any(x);
  V k, small = v_reduced(x, &k);
  return ((R)1.0 + small) * v_power_of_two(v_integer(k));
}
/* e^x - 1 = 2^k (e^r - 1 + (1 - 2^-k)): without a difference of nearly equal numbers. Friction often asks where it is -1 or x. */
F V v_expm1_of_any(V x) {
  V k, small = v_reduced(v_minimum(v_maximum(x, SPLAT(EXPM1_LOW)), SPLAT(EXP_TOP)), &k);
  const V one = (R)1.0 - v_power_of_two(-v_integer(v_minimum(k, SPLAT(EXPM1_FINE))));
  V y = v_scaled(small + one, k);
  y = SELECT(x > SPLAT(EXP_TOP), SPLAT(INFINITY), y);
  return SELECT((x == SPLAT(0.0)) | (x != x), x, y);
}
F V v_expm1(V x) {
  const VM low = x < SPLAT(EXPM1_LOW);
  if (!v_any(~(low | (v_abs(x) < SPLAT(EXPM1_TINY))))) return SELECT(low, SPLAT(-1.0), x);
  if (SELDOM(~(v_abs(x) < SPLAT(EXP_HALF)))) return v_expm1_of_any(x);
  V k, small = v_reduced(x, &k);
  const VM whole = v_integer(k);
  const V y = (small + ((R)1.0 - v_power_of_two(-whole))) * v_power_of_two(whole);
  return SELECT(x == SPLAT(0.0), x, y);
}
/* log: x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m - 1)/(m + 1)). */
F V v_log_from(V m, VM k) {
  const V s = (m - (R)1.0) / (m + (R)1.0), z = s * s;
  const V kf = v_real(k);
  return kf * (R)LN2_HI + ((R)2.0 * s + ((R)2.0 * s * z * SERIES(LOG_SERIES, z) + kf * (R)LN2_LO));
}
/* The whole k and the m of a normal number by its bits: those of sqrt(1/2) taken off, the exponent is k. */
F V v_log_of_normal(V x) {
  const VM k = ((VM)x - ((VM){0} + ROOT_HALF)) >> MANTISSA;
  return v_log_from((V)((VM)x - (k << MANTISSA)), k);
}
/* Denormal numbers are scaled up first. */
F V v_log_of_any(V x) {
  const VM denormal = x < SPLAT(SMALLEST_NORMAL), usual = (x > SPLAT(0.0)) & (x < SPLAT(INFINITY));
  const V up = SELECT(usual, SELECT(denormal, x * (R)((I)1 << MANTISSA), x), SPLAT(1.0));
  const VM k = ((VM)up - ((VM){0} + ROOT_HALF)) >> MANTISSA;
  V y = v_log_from((V)((VM)up - (k << MANTISSA)), k - (denormal & ((VM){0} + MANTISSA)));
  y = SELECT(x == SPLAT(INFINITY), x, y);
  y = SELECT(x == SPLAT(0.0), SPLAT(-INFINITY), y);
  return SELECT((x < SPLAT(0.0)) | (x != x), SPLAT(NAN), y);
}
F V v_log(V x) {
  if (!v_any(x != SPLAT(1.0))) return SPLAT(0.0);
  if (SELDOM(~((x >= SPLAT(SMALLEST_NORMAL)) & (x <= SPLAT(LARGEST))))) return v_log_of_any(x);
  return v_log_of_normal(x);
}
F V v_log1p(V y) {
  const V u = (R)1.0 + y, d = u - (R)1.0;
  const VM tiny = d == SPLAT(0.0);
  return SELECT(tiny | (u == SPLAT(INFINITY)), SELECT(tiny, y, u), v_log(u) * (y / SELECT(tiny, SPLAT(1.0), d)));
}
F V v_sign(V magnitude, V of) { return (V)(((VM)magnitude & ((VM){0} + MAGNITUDE)) | ((VM)of & ~((VM){0} + MAGNITUDE))); }
F V v_asinh(V x) {
  const V a = v_abs(x), s = v_sqrt(a * a + (R)1.0);
  const V small = v_log1p(a + a * a / ((R)1.0 + s));
  const V large = v_log(a) + (R)0.69314718055994530942;
  return v_sign(SELECT(a > SPLAT(R_IS_DOUBLE ? 1e100 : 1e15), large, small), x);
}
/* exp(a)/2 for large a, finite wherever that is. */
F V v_half_exp(V a) { const V h = v_exp((R)0.5 * a); return ((R)0.5 * h) * h; }
F V v_sinh(V x) {
  const V a = v_abs(x), e = v_expm1(a);
  V y = SELECT(e > SPLAT(1e12), (R)0.5 * e, (R)0.5 * (e + e / (e + (R)1.0)));
  const VM large = a > SPLAT(EXP_HALF);
  if (v_any(large)) y = SELECT(large, v_half_exp(a), y);
  return v_sign(y, x);
}
F V v_cosh(V x) {
  const V a = v_abs(x), e = v_exp(a);
  const VM large = a > SPLAT(EXP_HALF);
  V y = (R)0.5 * (e + (R)1.0 / e);
  if (v_any(large)) y = SELECT(large, v_half_exp(a), y);
  return y;
}
F V v_tanh(V x) { const V e = v_expm1((R)-2.0 * v_abs(x)); return v_sign(-e / (e + (R)2.0), x); }
#define LANEWISE(name, call) F V v_##name(V a) { V r; for (int i = 0; i < LANES; ++i) r[i] = call(a[i]); return r; }
LANEWISE(asin, asin)
LANEWISE(atan, atan)
LANEWISE(sin, sin)
LANEWISE(cos, cos)
LANEWISE(erf, erf)
F V v_pow(V a, V b) { V r; for (int i = 0; i < LANES; ++i) r[i] = pow(a[i], b[i]); return r; }
/* Scaled by the larger side: neither overflows nor underflows. */
F V v_hypot(V a, V b) {
  const V x = v_abs(a), y = v_abs(b), top = v_maximum(x, y), low = v_minimum(x, y);
  const V t = low / SELECT(top == SPLAT(0.0), SPLAT(1.0), top), h = top * v_sqrt((R)1.0 + t * t);
  return SELECT((x == SPLAT(INFINITY)) | (y == SPLAT(INFINITY)), SPLAT(INFINITY), h);
}

/* Whether any item of a batch has a slot. */
F int any(const int *slot) {
  int found = 0;
  for (int i = 0; i < LANES; ++i) found |= slot[i];
  return found;
}

#include <math.h>
#include <omp.h>
/* Each thread its own part where memory has a place; else whoever is free takes some batches: few enough that all end
   together, many enough that what a thread fetches ahead is mostly its own. */
int placed;
static void share_out(long batches) {
  const long part = batches / (4L * omp_get_max_threads());
  omp_set_schedule(placed ? omp_sched_static : omp_sched_dynamic, placed ? 0 : part < 1 ? 1 : part > 16 ? 16 : part);
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

F int v_any(VM m) { I any = 0; for (int i = 0; i < LANES; ++i) any |= m[i]; return any != 0; }
/* A NaN on either side stays a NaN, as in NumPy. */
F V v_minimum(V a, V b) { return SELECT((a < b) | (a != a), a, b); }
F V v_maximum(V a, V b) { return SELECT((a > b) | (a != a), a, b); }
#if R_IS_DOUBLE
#define MAGNITUDE 0x7fffffffffffffffL
#define BIAS 1023
#define MANTISSA 52
#define EXP_TERMS 13
#define LOG_TERMS 12
#define EXP_TOP 709.782712893383973096
#define EXP_LOW -745.13321910194122
#define EXP_HALF 700.0
#define SMALLEST_NORMAL 2.2250738585072014e-308
#define LN2_HI 6.93147180369123816490e-01
#define LN2_LO 1.90821492927058770002e-10
#else
#define MAGNITUDE 0x7fffffff
#define BIAS 127
#define MANTISSA 23
#define EXP_TERMS 8
#define LOG_TERMS 6
#define EXP_TOP 88.7228317f
#define EXP_LOW -103.972076f
#define EXP_HALF 80.0f
#define SMALLEST_NORMAL 1.17549435e-38f
#define LN2_HI 6.9313812256e-01f
#define LN2_LO 9.0580006145e-06f
#endif
F V v_abs(V a) { return (V)((VM)a & ((VM){0} + MAGNITUDE)); }
F V v_sqrt(V a) {
  V r;
  for (int i = 0; i < LANES; ++i) r[i] = R_IS_DOUBLE ? sqrt(a[i]) : sqrtf(a[i]);
  return r;
}
/* 2^k for |k| within the exponents of normal numbers. */
F V v_power_of_two(VM k) { return (V)((k + BIAS) << MANTISSA); }
/* exp: x = k ln2 + r, |r| <= ln2/2, Taylor series of r, then 2^k in two factors: both ends of the range, denormal numbers
   included, come out as those of the scalar function. */
F V v_exp(V x) {
  const V c = v_minimum(v_maximum(x, SPLAT(EXP_LOW)), SPLAT(EXP_TOP));
  const V shift = SPLAT(R_IS_DOUBLE ? 6755399441055744.0 : 12582912.0);
  const V k = (c * (R)1.44269504088896340736 + shift) - shift;
  const V r = (c - k * (R)LN2_HI) - k * (R)LN2_LO;
  V p = SPLAT(1.0);
  for (int i = EXP_TERMS; i >= 1; --i) p = (R)1.0 + p * r / (R)i;
  const VM whole = __builtin_convertvector(k, VM), half = whole >> 1;
  V y = p * v_power_of_two(half) * v_power_of_two(whole - half);
  y = SELECT(x < SPLAT(EXP_LOW), SPLAT(0.0), y);
  y = SELECT(x > SPLAT(EXP_TOP), SPLAT(INFINITY), y);
  return SELECT(x != x, x, y);
}
/* log: x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m - 1)/(m + 1)). Denormal numbers are scaled up first. */
F V v_log(V x) {
  const VM denormal = x < SPLAT(SMALLEST_NORMAL);
  const VM bits = (VM)SELECT(denormal, x * (R)((I)1 << MANTISSA), x);
  VM k = ((bits >> MANTISSA) & (2 * BIAS + 1)) - BIAS - (denormal & ((VM){0} + MANTISSA));
  V m = (V)((bits & (((I)1 << MANTISSA) - 1)) | ((VM){0} + ((I)BIAS << MANTISSA)));
  const VM big = m > SPLAT(1.41421356237309514547);
  m = SELECT(big, m * (R)0.5, m);
  k -= big;
  const V s = (m - (R)1.0) / (m + (R)1.0), z = s * s;
  V p = SPLAT(0.0);
  for (int i = LOG_TERMS; i >= 1; --i) p = p * z + (R)(1.0 / (2 * i + 1));
  const V kf = __builtin_convertvector(k, V);
  V y = kf * (R)LN2_HI + ((R)2.0 * s + ((R)2.0 * s * z * p + kf * (R)LN2_LO));
  y = SELECT(x == SPLAT(INFINITY), x, y);
  y = SELECT(x == SPLAT(0.0), SPLAT(-INFINITY), y);
  return SELECT((x < SPLAT(0.0)) | (x != x), SPLAT(NAN), y);
}
F V v_log1p(V y) {
  const V u = (R)1.0 + y, d = u - (R)1.0;
  const VM tiny = d == SPLAT(0.0);
  return SELECT(tiny | (u == SPLAT(INFINITY)), SELECT(tiny, y, u), v_log(u) * (y / SELECT(tiny, SPLAT(1.0), d)));
}
F V v_expm1(V x) {
  const V u = v_exp(x), d = u - (R)1.0, l = v_log(u);
  const VM same = u == SPLAT(1.0), low = d == SPLAT(-1.0), top = u == SPLAT(INFINITY);
  return SELECT(same, x, SELECT(low | top, d, d * (x / SELECT(l == SPLAT(0.0), SPLAT(1.0), l))));
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

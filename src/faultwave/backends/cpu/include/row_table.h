/* The larger of two, the second where the first is no number, and the largest of a vector. */
#if defined(__AVX512F__) && LANES == 16 && !R_IS_DOUBLE
F V v_larger(V a, V b) { return X86(__builtin_ia32_maxps512_mask(a, b, a, 65535, 4), _mm512_max_ps(a, b)); }
#elif defined(__AVX512F__) && LANES == 8 && R_IS_DOUBLE
F V v_larger(V a, V b) { return X86(__builtin_ia32_maxpd512_mask(a, b, a, 255, 4), _mm512_max_pd(a, b)); }
#elif defined(__AVX__) && LANES == 8 && !R_IS_DOUBLE
F V v_larger(V a, V b) { return X86(__builtin_ia32_maxps256(a, b), _mm256_max_ps(a, b)); }
#elif defined(__AVX__) && LANES == 4 && R_IS_DOUBLE
F V v_larger(V a, V b) { return X86(__builtin_ia32_maxpd256(a, b), _mm256_max_pd(a, b)); }
#else
F V v_larger(V a, V b) { return SELECT(a > b, a, b); }
#endif
/* The same of the size of the first; the instruction also gives the other where one is no number. */
#if defined(__AVX512DQ__) && LANES == 16 && !R_IS_DOUBLE
F V v_larger_size(V a, V b) { return X86(__builtin_ia32_rangeps512_mask(a, b, 11, a, 65535, 4), _mm512_range_ps(a, b, 11)); }
#elif defined(__AVX512DQ__) && LANES == 8 && R_IS_DOUBLE
F V v_larger_size(V a, V b) { return X86(__builtin_ia32_rangepd512_mask(a, b, 11, a, 255, 4), _mm512_range_pd(a, b, 11)); }
#else
F V v_larger_size(V a, V b) { return v_larger(v_abs(a), b); }
#endif
#if IS_GCC
/* Numbers whose places differ by the bit n change places; the compiler must see the places as constants. */
#define SWAPPED_4(n) 0 ^ n, 1 ^ n, 2 ^ n, 3 ^ n
#define SWAPPED_8(n) SWAPPED_4(n), 4 ^ n, 5 ^ n, 6 ^ n, 7 ^ n
#define SWAPPED_16(n) SWAPPED_8(n), 8 ^ n, 9 ^ n, 10 ^ n, 11 ^ n, 12 ^ n, 13 ^ n, 14 ^ n, 15 ^ n
#if LANES == 16
#define SWAPPED SWAPPED_16
#elif LANES == 8
#define SWAPPED SWAPPED_8
#elif LANES == 4
#define SWAPPED SWAPPED_4
#endif
#endif
#ifdef SWAPPED
F R v_largest(V a) {
#if LANES > 8
  a = v_larger(a, __builtin_shuffle(a, (VM){SWAPPED(8)}));
#endif
#if LANES > 4
  a = v_larger(a, __builtin_shuffle(a, (VM){SWAPPED(4)}));
#endif
  a = v_larger(a, __builtin_shuffle(a, (VM){SWAPPED(2)}));
  return v_larger(a, __builtin_shuffle(a, (VM){SWAPPED(1)}))[0];
}
#else
F R v_largest(V a) {
  R found[LANES];
  __builtin_memcpy(found, &a, sizeof a);
  for (int half = LANES / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) found[i] = found[i] > found[i + half] ? found[i] : found[i + half];
  return found[0];
}
#endif
/* Of formulas of whole rows, whose peaks are never NaN. */
F R r_maximum(R a, R b) { return a > b ? a : b; }
F R r_minimum(R a, R b) { return a < b ? a : b; }
F R r_abs(R a) { return a < 0 ? -a : a; }

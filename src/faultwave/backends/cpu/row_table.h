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
F R v_largest(V a) {
  R found[LANES];
  __builtin_memcpy(found, &a, sizeof a);
  for (int half = LANES / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) found[i] = found[i] > found[i + half] ? found[i] : found[i + half];
  return found[0];
}

/* The first n < LANES numbers of a vector: what lies beyond may be another thread's. */
#if defined(__AVX512F__) && LANES == 16 && !R_IS_DOUBLE
F void STORE_PART(R *p, V v, long n) {
  const unsigned short first = (1u << n) - 1;
  X86(__builtin_ia32_storeups512_mask(p, v, first), _mm512_mask_storeu_ps(p, first, (__m512)v));
}
#elif defined(__AVX512F__) && LANES == 8 && R_IS_DOUBLE
F void STORE_PART(R *p, V v, long n) {
  const unsigned char first = (1u << n) - 1;
  X86(__builtin_ia32_storeupd512_mask(p, v, first), _mm512_mask_storeu_pd(p, first, (__m512d)v));
}
#elif defined(__AVX__) && LANES == 8 && !R_IS_DOUBLE
F void STORE_PART(R *p, V v, long n) {
  const VM first = ((VM){0} + (int)n) > (VM){0, 1, 2, 3, 4, 5, 6, 7};
  X86(__builtin_ia32_maskstoreps256((V *)p, first, v), _mm256_maskstore_ps(p, (__m256i)first, (__m256)v));
}
#elif defined(__AVX__) && LANES == 4 && R_IS_DOUBLE
typedef long long LL __attribute__((vector_size(32)));
F void STORE_PART(R *p, V v, long n) {
  const LL first = (LL)(((VM){0} + n) > (VM){0, 1, 2, 3});
  X86(__builtin_ia32_maskstorepd256((V *)p, first, v), _mm256_maskstore_pd(p, (__m256i)first, (__m256d)v));
}
#else
F void STORE_PART(R *p, V v, long n) { for (int i = 0; i < LANES; ++i) if (i < n) p[i] = v[i]; }
#endif

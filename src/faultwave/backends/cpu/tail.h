/* The first n < LANES numbers of a vector: what lies beyond may be another thread's. */
#if defined(__AVX512F__) && LANES == 16 && !R_IS_DOUBLE
#include <immintrin.h>
F void STORE_PART(R *p, V v, long n) { _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v); }
#elif defined(__AVX512F__) && LANES == 8 && R_IS_DOUBLE
#include <immintrin.h>
F void STORE_PART(R *p, V v, long n) { _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), (__m512d)v); }
#elif defined(__AVX__) && LANES == 8 && !R_IS_DOUBLE
#include <immintrin.h>
F void STORE_PART(R *p, V v, long n) {
  const __m256i lane = {0x100000000L, 0x300000002L, 0x500000004L, 0x700000006L};
  _mm256_maskstore_ps(p, (__m256i)((__v8si)_mm256_set1_epi32((int)n) > (__v8si)lane), (__m256)v);
}
#elif defined(__AVX__) && LANES == 4 && R_IS_DOUBLE
#include <immintrin.h>
F void STORE_PART(R *p, V v, long n) {
  const __m256i lane = {0, 1, 2, 3};
  _mm256_maskstore_pd(p, (__m256i)((__v4di)_mm256_set1_epi64x(n) > (__v4di)lane), (__m256d)v);
}
#else
F void STORE_PART(R *p, V v, long n) { for (int i = 0; i < LANES; ++i) if (i < n) p[i] = v[i]; }
#endif

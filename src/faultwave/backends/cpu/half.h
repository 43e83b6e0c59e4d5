/* Numbers in sixteen bits (IEEE half precision), read as vectors of R. */
typedef unsigned short H;
#if R_IS_DOUBLE
#error "programs in double precision keep all numbers as double"
#endif
typedef H VH __attribute__((vector_size(LANES * sizeof(H)), aligned(2), may_alias));
#if defined(__AVX512F__) && LANES == 16
#include <immintrin.h>
F V LOAD_HALF(const H *p) { return (V)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
#elif defined(__F16C__) && LANES == 8
#include <immintrin.h>
F V LOAD_HALF(const H *p) { return (V)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
#elif defined(__F16C__) && LANES == 4
#include <immintrin.h>
F V LOAD_HALF(const H *p) { return (V)_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)p)); }
#else
/* Exponent and fraction move to their places in a float, which is then too small by 2^112; the sign is put on top. */
F V LOAD_HALF(const H *p) {
  const VM bits = __builtin_convertvector(*(const VH *)p, VM);
  return (V)((VM)((V)((bits & 0x7fff) << 13) * 0x1p112f) | ((bits & 0x8000) << 16));
}
#endif

/* Numbers in sixteen bits (IEEE half precision), read as vectors of R. */
typedef unsigned short H;
#if R_IS_DOUBLE
#error "programs in double precision keep all numbers as double"
#endif
typedef H VH __attribute__((vector_size(LANES * sizeof(H)), aligned(2), may_alias));
typedef short HS __attribute__((vector_size(LANES * sizeof(H))));
#if defined(__AVX512F__) && LANES == 16
F V LOAD_HALF(const H *p) {
  const HS h = (HS)*(const VH *)p;
  return (V)X86(__builtin_ia32_vcvtph2ps512_mask(h, (V){0}, 65535, 4), _mm512_cvtph_ps((__m256i)h));
}
#elif defined(__F16C__) && LANES == 8
F V LOAD_HALF(const H *p) {
  const HS h = (HS)*(const VH *)p;
  return (V)X86(__builtin_ia32_vcvtph2ps256(h), _mm256_cvtph_ps((__m128i)h));
}
#else
/* Exponent and fraction move to their places in a float, which is then too small by 2^112; the sign is put on top. */
F V LOAD_HALF(const H *p) {
  const VM bits = __builtin_convertvector(*(const VH *)p, VM);
  return (V)((VM)((V)((bits & 0x7fff) << 13) * 0x1p112f) | ((bits & 0x8000) << 16));
}
#endif

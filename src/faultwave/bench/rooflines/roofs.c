/* What the machine can do at most. R, LANES, CHAINS are defined above; every function runs on all threads. */
#include <stddef.h>
typedef R V __attribute__((vector_size(LANES * sizeof(R))));

#ifndef __has_builtin
#define __has_builtin(x) 0
#endif
#if __has_builtin(__builtin_nontemporal_store)
#define STREAM(p, v) __builtin_nontemporal_store(v, p)
#elif defined(__GNUC__) && defined(__AVX512F__)
#define STREAM(p, v) __builtin_ia32_movntpd512((double *)(p), (__attribute__((vector_size(64))) double)(v))
#elif defined(__GNUC__) && defined(__AVX__)
#define STREAM(p, v) __builtin_ia32_movntpd256((double *)(p), (__attribute__((vector_size(32))) double)(v))
#elif defined(__GNUC__) && defined(__SSE2__)
#define STREAM(p, v) __builtin_ia32_movntpd((double *)(p), (__attribute__((vector_size(16))) double)(v))
#endif
#ifdef STREAM
int streams(void) { return 1; }
#else
#define STREAM(p, v) (*(p) = (v))
int streams(void) { return 0; }
#endif

/* Multiply-adds on registers only: CHAINS independent ones hide each other's latency. */
void fma_registers(long rounds, double *out) {
#pragma omp parallel
  {
    V a[CHAINS], x = (V){0} + (R)0.999, y = (V){0} + (R)1e-3;
    __asm__ volatile("" : "+m"(x), "+m"(y));
    for (int i = 0; i < CHAINS; ++i) a[i] = (V){0} + (R)(i + 1);
    for (long n = 0; n < rounds; ++n) {
#pragma GCC unroll 32
      for (int i = 0; i < CHAINS; ++i) a[i] = a[i] * x + y;
      /* one iteration after the other: no loop transformation */
      __asm__ volatile("");
    }
    for (int i = 0; i < CHAINS; ++i) {
#pragma omp atomic
      *out += (double)a[i][0];
    }
  }
}

/* The inner loop of a contraction: broadcast one number of a table, multiply-add CHAINS vectors of the cache nearby. */
void fma_memory(long rounds, long nonzeros, const R *values, const V *vectors, double *out) {
#pragma omp parallel
  {
    V a[COLUMNS];
    for (int i = 0; i < COLUMNS; ++i) a[i] = (V){0};
    for (long n = 0; n < rounds; ++n) {
      for (long p = 0; p < nonzeros; ++p) {
        const R m = values[p];
        const V *x = vectors + p * COLUMNS;
#pragma GCC unroll 32
        for (int i = 0; i < COLUMNS; ++i) a[i] += m * x[i];
      }
      __asm__ volatile("" ::: "memory");
    }
    for (int i = 0; i < COLUMNS; ++i) {
#pragma omp atomic
      *out += (double)a[i][0];
    }
  }
}

void fill(long n, V *a, V *b, V *c) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < n; ++i) a[i] = (V){0} + 1, b[i] = (V){0} + 2, c[i] = (V){0};
}

#define SWEEP(name, statement)                                     \
  void name(long n, const V *restrict a, const V *restrict b, V *restrict c) { \
    _Pragma("omp parallel for schedule(static)")                   \
    for (long i = 0; i < n; ++i) statement;                        \
  }
SWEEP(copy, c[i] = a[i])
SWEEP(triad, c[i] = a[i] + (R)0.5 * b[i])
SWEEP(stream_copy, STREAM(c + i, a[i]))
SWEEP(stream_triad, STREAM(c + i, a[i] + (R)0.5 * b[i]))

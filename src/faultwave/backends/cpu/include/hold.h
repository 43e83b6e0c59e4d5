/* A value that has been read and is needed again stays in a register: gcc would rather read it again. Only where registers are many. */
#if IS_GCC && defined(__AVX512F__)
#define HOLD(v) __asm__("" : "+v"(v))
#else
#define HOLD(v) (void)0
#endif

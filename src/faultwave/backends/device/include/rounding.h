/* Messages of fewer bytes. Numbers of a message lie side by side [item][number] in ``list``; what rounding takes from them, that is what
   the other side gets less what is here, is left in ``error`` from ``at`` on. Every thread works on each ``stride``-th piece of a message and leaves
   in ``partial`` the largest number and the largest error it has seen, and the sum of the errors' squares. */
typedef unsigned long U;
typedef union { double real; U bits; } Bits;
typedef struct { double size, error, squares; } Seen;

DEVICE double larger(const double a, const double b) { return b > a ? b : a; }
/* By bits: compilers that take numbers for finite do not optimise it away. */
DEVICE int finite_bits(const double x) {
  Bits b;
  b.real = x;
  return (b.bits >> 52 & 2047) != 2047;
}
/* Numbers that are not finite do not count. */
DEVICE void see(Seen *s, const double value, const double error) {
  if (!finite_bits(value) || !finite_bits(error)) return;
  s->size = larger(s->size, fabs(value));
  s->error = larger(s->error, fabs(error));
  s->squares += error * error;
}
DEVICE void leave(GLOBAL double *partial, const int t, const Seen s) {
  partial[3 * t] = s.size, partial[3 * t + 1] = s.error, partial[3 * t + 2] = s.squares;
}

/* Single precision. Numbers below the smallest normal one are zero: some compilers make them that, others do not. */
DEVICE float narrow(const double x) { return fabs(x) < 1.1754943508222875e-38 ? 0.0f : (float)x; }
KERNEL(256, 1) void round_single(GLOBAL const S *list, GLOBAL float *packed, GLOBAL S *error, GLOBAL double *partial, const int count,
                                 const int stride, const int width, const int bits, const long at) {
  const int t = GROUP * 256 + THREAD;
  Seen s = {0, 0, 0};
  for (int i = t; i < count; i += stride) {
    const double value = list[i];
    const float kept = narrow(value);
    const double lost = (double)kept - value;
    packed[i] = kept;
    error[at + i] = (S)lost;
    see(&s, value, lost);
  }
  leave(partial, t, s);
}
KERNEL(256, 1) void unround_single(GLOBAL const float *packed, GLOBAL S *list, const int count, const int width, const int bits) {
  const int t = GROUP * 256 + THREAD;
  if (t < count) list[t] = (S)packed[t];
}

/* ZFP at a fixed rate (Lindstrom 2014, "Fixed-rate compressed floating-point arrays", sections 3.1 to 3.4): four numbers share an exponent, become
   integers, are decorrelated, and leave bit plane by bit plane until 4 * bits bits are full. Bits of a message follow each other from the lowest
   of each byte; two blocks end at a byte. Item by item of the first number, then of the second ...: a block holds one mode's numbers. */
#define EXPONENT_BIAS 1023
#define EXPONENT_BITS 12
#define NEGABINARY 0xaaaaaaaaaaaaaaaaUL
#define NOT_FINITE 14 /* the first bits 0111 of a block with a number that is not finite; in ZFP nothing but zeros follows a first 0 */
#define LEAST 1.1830521861667747e-271 /* 2^-900: below it numbers are zero, far from where powers of two run out */

typedef struct { U words[8]; int at; } Stream; /* of two blocks */

DEVICE void put_bits(Stream *s, const U value, const int count) {
  for (int i = 0; i < count; ++i, ++s->at) s->words[s->at >> 6] |= (value >> i & 1UL) << (s->at & 63);
}
DEVICE U get_bits(Stream *s, const int count) {
  U value = 0;
  for (int i = 0; i < count; ++i, ++s->at) value |= (s->words[s->at >> 6] >> (s->at & 63) & 1UL) << i;
  return value;
}
/* 2^e for normal numbers. */
DEVICE double power(const int e) {
  Bits b;
  b.bits = (U)(e + EXPONENT_BIAS) << 52;
  return b.real;
}

/* One bit plane: ``known`` numbers have had a one in it before and leave their bits as they are; behind them each one is announced, and found
   by zeros in front of it. Returns what is left of ``room``. */
DEVICE int put_plane(Stream *s, U plane, int *known, int room) {
  const int first = *known < room ? *known : room;
  put_bits(s, plane, first);
  plane >>= first;
  room -= first;
  while (room && *known < 4) {
    const U any = plane != 0;
    put_bits(s, any, 1), --room;
    if (!any) break;
    while (room && *known < 3) {
      const U one = plane & 1;
      put_bits(s, one, 1), --room;
      if (one) break;
      plane >>= 1, ++*known;
    }
    plane >>= 1, ++*known;
  }
  return room;
}
DEVICE int get_plane(Stream *s, U *plane, int *known, int room) {
  const int first = *known < room ? *known : room;
  *plane = get_bits(s, first);
  room -= first;
  while (room && *known < 4) {
    const U any = get_bits(s, 1);
    --room;
    if (!any) break;
    while (room && *known < 3) {
      const U one = get_bits(s, 1);
      --room;
      if (one) break;
      ++*known;
    }
    *plane |= 1UL << *known;
    ++*known;
  }
  return room;
}

DEVICE void encode(Stream *s, const double *x, const int bits) {
  const int end = s->at + 4 * bits;
  double most = 0;
  int good = 1;
  for (int i = 0; i < 4; ++i) most = larger(most, fabs(x[i])), good &= finite_bits(x[i]);
  if (!good) {
    put_bits(s, NOT_FINITE, 4);
  } else if (most != 0) {
    Bits b;
    b.real = most;
    const int e = (int)(b.bits >> 52 & 2047) - EXPONENT_BIAS + 1; /* most = m 2^e, m in [1/2, 1) */
    long q[4];
    for (int i = 0; i < 4; ++i) q[i] = (long)(x[i] * power(62 - e));
    q[0] += q[3], q[0] >>= 1, q[3] -= q[0];
    q[2] += q[1], q[2] >>= 1, q[1] -= q[2];
    q[0] += q[2], q[0] >>= 1, q[2] -= q[0];
    q[3] += q[1], q[3] >>= 1, q[1] -= q[3];
    q[3] += q[1] >> 1, q[1] -= q[3] >> 1;
    U u[4];
    for (int i = 0; i < 4; ++i) u[i] = ((U)q[i] + NEGABINARY) ^ NEGABINARY;
    put_bits(s, 2UL * (U)(e + EXPONENT_BIAS) + 1UL, EXPONENT_BITS);
    int room = 4 * bits - EXPONENT_BITS, known = 0;
    for (int k = 63; room && k >= 0; --k) {
      U plane = 0;
      for (int i = 0; i < 4; ++i) plane |= (u[i] >> k & 1UL) << i;
      room = put_plane(s, plane, &known, room);
    }
  }
  s->at = end;
}
DEVICE void decode(Stream *s, double *x, const int bits) {
  const int end = s->at + 4 * bits;
  for (int i = 0; i < 4; ++i) x[i] = 0;
  const U head = get_bits(s, EXPONENT_BITS);
  if ((head & 15UL) == NOT_FINITE) {
    Bits nan;
    nan.bits = 0x7ff8000000000000UL;
    for (int i = 0; i < 4; ++i) x[i] = nan.real;
  } else if (head & 1UL) {
    const int e = (int)(head >> 1) - EXPONENT_BIAS;
    U u[4] = {0, 0, 0, 0};
    int room = 4 * bits - EXPONENT_BITS, known = 0;
    for (int k = 63; room && k >= 0; --k) {
      U plane;
      room = get_plane(s, &plane, &known, room);
      for (int i = 0; i < 4; ++i) u[i] |= (plane >> i & 1UL) << k;
    }
    long q[4];
    for (int i = 0; i < 4; ++i) q[i] = (long)((u[i] ^ NEGABINARY) - NEGABINARY);
    q[1] += q[3] >> 1, q[3] -= q[1] >> 1;
    q[1] += q[3], q[3] = (long)((U)q[3] << 1), q[3] -= q[1];
    q[2] += q[0], q[0] = (long)((U)q[0] << 1), q[0] -= q[2];
    q[1] += q[2], q[2] = (long)((U)q[2] << 1), q[2] -= q[1];
    q[3] += q[0], q[0] = (long)((U)q[0] << 1), q[0] -= q[3];
    for (int i = 0; i < 4; ++i) x[i] = (double)q[i] * power(e - 62);
  }
  s->at = end;
}

/* Where number ``i`` of the order above is in a list. */
DEVICE int place(const int i, const int count, const int width) {
  const int items = count / width;
  return i % items * width + i / items;
}
KERNEL(256, 1) void round_zfp(GLOBAL const S *list, GLOBAL unsigned char *packed, GLOBAL S *error, GLOBAL double *partial, const int count,
                              const int stride, const int width, const int bits, const long at) {
  const int t = GROUP * 256 + THREAD, blocks = (count + 3) / 4, size = (int)(((long)blocks * 4 * bits + 63) / 64 * 8);
  Seen s = {0, 0, 0};
  for (int pair = t; 2 * pair < blocks; pair += stride) {
    Stream out;
    for (int i = 0; i < 8; ++i) out.words[i] = 0;
    out.at = 0;
    for (int second = 0; second < 2; ++second) {
      const int first = 8 * pair + 4 * second, here = count - first < 4 ? count - first : 4;
      double x[4], y[4];
      if (here <= 0) break;
      for (int i = 0; i < 4; ++i) {
        /* the numbers that a last block lacks are the one before, of a single number the first again */
        const int from = i < here ? i : i == 3 ? 0 : i - 1;
        const double value = i < here ? (double)list[place(first + i, count, width)] : x[from];
        x[i] = fabs(value) < LEAST ? 0 : value;
      }
      const int begun = out.at;
      encode(&out, x, bits);
      out.at = begun;
      decode(&out, y, bits);
      for (int i = 0; i < here; ++i) {
        const int where = place(first + i, count, width);
        const double value = list[where];
        error[at + where] = (S)(y[i] - value);
        see(&s, value, y[i] - value);
      }
    }
    for (int i = 0; i < bits; ++i) {
      const long to = (long)pair * bits + i;
      if (to < size) packed[to] = (unsigned char)(out.words[i >> 3] >> 8 * (i & 7));
    }
  }
  leave(partial, t, s);
}
KERNEL(256, 1) void unround_zfp(GLOBAL const unsigned char *packed, GLOBAL S *list, const int count, const int width, const int bits) {
  const int pair = GROUP * 256 + THREAD, blocks = (count + 3) / 4, size = (int)(((long)blocks * 4 * bits + 63) / 64 * 8);
  if (2 * pair >= blocks) return;
  Stream in;
  for (int i = 0; i < 8; ++i) in.words[i] = 0;
  for (int i = 0; i < bits; ++i) {
    const long from = (long)pair * bits + i;
    if (from < size) in.words[i >> 3] |= (U)packed[from] << 8 * (i & 7);
  }
  in.at = 0;
  for (int first = 8 * pair; first < 8 * pair + 8 && first < count; first += 4) {
    double x[4];
    decode(&in, x, bits);
    for (int i = 0; i < 4 && first + i < count; ++i) list[place(first + i, count, width)] = (S)x[i];
  }
}

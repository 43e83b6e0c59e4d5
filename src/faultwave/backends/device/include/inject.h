/* Number (b, i) of item c gets amount * rows[b] * columns[i] of each of its sources, in their order. One thread a number. */
KERNEL(256, 1) void inject(GLOBAL R *q, GLOBAL const int *items, GLOBAL const int *first, GLOBAL const R *rows, GLOBAL const R *columns,
                           GLOBAL const R *amount, const int at, const int count, const int modes, const int wide, const int lanes) {
  const long t = (long)GROUP * 256 + THREAD, size = modes * wide;
  if (t >= count * size) return;
  const int c = (int)(t / size), n = (int)(t % size), b = n / wide, i = n % wide;
  R sum = 0;
  for (int m = first[c]; m < first[c + 1]; ++m) sum += amount[at + m] * (rows[(long)m * modes + b] * columns[(long)m * wide + i]);
  q[((long)(items[c] / lanes) * size + n) * lanes + items[c] % lanes] += sum;
}

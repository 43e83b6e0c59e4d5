/* Numbers by item, from and to the memory of a buffer: [batch][number][lane], or slots with one lane. One thread a number. */
#define WHERE ((long)(items[t / taken] / lanes) * size * lanes + (long)(first + t % taken) * lanes + items[t / taken] % lanes)
#define EACH const int t = GROUP * 256 + THREAD; if (t >= count) return;
KERNEL(256, 1) void pack(GLOBAL const S *buffer, GLOBAL const int *items, GLOBAL S *list, const int count, const int first,
                         const int taken, const int size, const int lanes) {
  EACH list[t] = buffer[WHERE];
}
KERNEL(256, 1) void unpack(GLOBAL S *buffer, GLOBAL const int *items, GLOBAL const S *list, const int count, const int first,
                           const int taken, const int size, const int lanes) {
  EACH buffer[WHERE] = list[t];
}
KERNEL(256, 1) void add(GLOBAL S *buffer, GLOBAL const int *items, GLOBAL const S *list, const int count, const int first,
                        const int taken, const int size, const int lanes) {
  EACH buffer[WHERE] += list[t];
}
/* Raises the flag where a number is infinite or none; each thread looks at every ``stride``-th. */
KERNEL(256, 1) void not_finite(GLOBAL const S *buffer, GLOBAL int *flag, const long count, const int stride) {
  int bad = 0;
  for (long t = (long)GROUP * 256 + THREAD; t < count; t += stride) bad |= !(buffer[t] - buffer[t] == 0);
  if (bad) flag[0] = 1;
}
/* Sums of each number over the batches part, part + parts ... and their lanes: partial sums [part][number]. */
KERNEL(256, 1) void sums(GLOBAL const S *buffer, GLOBAL double *partial, const int batches, const int size, const int lanes,
                         const int parts) {
  const int t = GROUP * 256 + THREAD, part = t / size, number = t % size;
  if (part >= parts) return;
  double sum = 0;
  for (int b = part; b < batches; b += parts)
    for (int lane = 0; lane < lanes; ++lane) sum += buffer[((long)b * size + number) * lanes + lane];
  partial[(long)part * size + number] = sum;
}

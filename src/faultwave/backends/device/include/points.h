/* Points of a grid one by one: sources, what receivers read, ends of periodic axes. */

/* Point n gets what the entries [first[n], first[n + 1]) bring, in their order. */
KERNEL(256, 1) void inject(GLOBAL R *array, GLOBAL const long *where, GLOBAL const int *first, GLOBAL const R *weight,
                           GLOBAL const int *source, GLOBAL const R *amplitude, const int begin, const int end, const int at) {
  const int n = begin + GROUP * 256 + THREAD;
  if (n >= end) return;
  R sum = array[where[n]];
  for (int m = first[n]; m < first[n + 1]; ++m) sum += weight[m] * amplitude[at + source[m]];
  array[where[n]] = sum;
}
KERNEL(256, 1) void record(GLOBAL const R *array, GLOBAL const long *where, GLOBAL const int *number, GLOBAL R *tape, const int begin,
                           const int end, const long at) {
  const int n = begin + GROUP * 256 + THREAD;
  if (n < end) tape[at + number[n]] = array[where[n]];
}
KERNEL(256, 1) void place(GLOBAL R *array, GLOBAL const long *where, GLOBAL const R *list, const int count, const int at) {
  const int n = GROUP * 256 + THREAD;
  if (n < count) array[where[n]] = list[at + n];
}
/* ``count`` planes of ``high`` by ``wide`` points, with these distances between neighbours, from ``source`` to ``target``. */
KERNEL(256, 1) void copy(GLOBAL R *array, const long source, const long target, const long deep_step, const long high_step, const long wide_step,
                         const int count, const int high, const int wide) {
  const long n = (long)GROUP * 256 + THREAD;
  if (n >= (long)count * high * wide) return;
  const long at = n / wide / high * deep_step + n / wide % high * high_step + n % wide * wide_step;
  array[target + at] = array[source + at];
}
KERNEL(256, 1) void not_finite(GLOBAL const R *array, GLOBAL int *flag, const long count, const int stride) {
  int bad = 0;
  for (long t = (long)GROUP * 256 + THREAD; t < count; t += stride) bad |= !(array[t] - array[t] == 0);
  if (bad) flag[0] = 1;
}

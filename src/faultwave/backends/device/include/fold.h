/* Add what a message has lost, relative to its largest number, to ``lost``: the largest error of all, the sum of squares, how many. */
DEVICE double larger(const double a, const double b) { return b > a ? b : a; }
KERNEL(256, 1) void fold(GLOBAL const double *partial, GLOBAL double *lost, const int parts, const int count SHARED_ARGUMENT) {
  SHARED_ARRAY
  const int t = THREAD;
  for (int j = 0; j < 3; ++j) shared[3 * t + j] = 0;
  for (int p = t; p < parts; p += 256) {
    for (int j = 0; j < 2; ++j) shared[3 * t + j] = larger(shared[3 * t + j], partial[3 * p + j]);
    shared[3 * t + 2] += partial[3 * p + 2];
  }
  for (int other = 128; other; other /= 2) {
    BARRIER;
    if (t < other) {
      for (int j = 0; j < 2; ++j) shared[3 * t + j] = larger(shared[3 * t + j], shared[3 * (t + other) + j]);
      shared[3 * t + 2] += shared[3 * (t + other) + 2];
    }
  }
  if (t || !(shared[0] > 0)) return;
  lost[0] = larger(lost[0], shared[1] / shared[0]);
  lost[1] += shared[2] / (shared[0] * shared[0]);
  lost[2] += count;
}

/* into[j stride + i] = sum over b of down[j][b] times the sum over a of over[i % every][a] values[row[j] + b][column[i % every] + step (i / every) + a],
   rows first, in the order of the weights, and all by the same instructions: so no cut of a plane changes a bit. ``across``: memory for
   rows of ``row_length`` numbers each: one of values, and ``step`` more, of every step-th of them, so that i runs along memory; ``place``: where
   what each column needs begins there. */
F V some(const R *from, long lanes) {
  if (lanes >= LANES) return *(const VU *)from;
  V found = {0};
  for (long i = 0; i < lanes; ++i) found[i] = from[i];
  return found;
}

void plane_product(const R *values, long width, R *into, long stride, long ny, long nx, const long *row, const R *down, long downs,
                   const long *place, const R *over, long overs, long every, long step, R *across, long row_length) {
  R *parts = step > 1 ? across + row_length : across;
  for (long j = 0; j < ny; ++j) {
    const R *from = values + row[j] * width;
    for (long i = 0; i < width; i += LANES) {
      V sum = {0};
      for (long b = 0; b < downs; ++b) sum += down[j * downs + b] * some(from + b * width + i, width - i);
      *(VU *)(across + i) = sum;
    }
    for (long s = 0; s < step && step > 1; ++s)
      for (long i = s, t = 0; i < width; i += step, ++t) parts[s * row_length + t] = across[i];
    for (long q = 0; q < every; ++q)
      for (long i = q, t = 0; i < nx; i += LANES * every, t += LANES) {
        V sum = {0};
        for (long a = 0; a < overs; ++a) sum += over[q * overs + a] * *(const VU *)(parts + place[q * overs + a] + t);
        R *to = into + j * stride + i;
        if (every == 1 && i + LANES <= nx) *(VU *)to = sum;
        else for (long n = 0; n < LANES && i + n * every < nx; ++n) to[n * every] = sum[n];
      }
  }
}

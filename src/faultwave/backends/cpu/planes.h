/* into[j][i] = sum over b of down[j][b] times the sum over a of over[i][a] values[row[j] + b][column[i] + a], rows first, in the order of
   the weights, and all by the same instructions: so no cut of a plane changes a bit. ``across``: memory for a row of values and LANES
   more. */
F V some(const R *from, int lanes) {
  if (lanes == LANES) return *(const VU *)from;
  V found = {0};
  for (int i = 0; i < lanes; ++i) found[i] = from[i];
  return found;
}

void plane_product(const R *values, long width, R *into, long ny, long nx, const long *row, const R *down, long downs,
                   const long *column, const R *over, long overs, R *across) {
  for (long j = 0; j < ny; ++j) {
    const R *from = values + row[j] * width;
    for (long i = 0; i < width; i += LANES) {
      const int lanes = width - i < LANES ? width - i : LANES;
      V sum = {0};
      for (long b = 0; b < downs; ++b) sum += down[j * downs + b] * some(from + b * width + i, lanes);
      *(VU *)(across + i) = sum;
    }
    for (long i = 0; i < nx; ++i) {
      R sum = 0;
      for (long a = 0; a < overs; ++a) sum += over[i * overs + a] * across[column[i] + a];
      into[j * nx + i] = sum;
    }
  }
}

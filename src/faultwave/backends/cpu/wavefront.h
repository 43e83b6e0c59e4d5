/* The order of a stencil program: tiles of rows (y), a front of planes (z) and several steps in one pass.

   Half-step m of a pass (level m % LEVELS) works on plane p - REACH m when the front is at p, and in tile t on the rows
   [y_t - REACH m, y_t+1 - REACH m): every read finds its half-step, done in this tile or the one before, and nothing is
   overwritten that is still needed. A tile may be at p once the tile before has finished p, so threads take tiles in
   turn and follow each other. */
#include <omp.h>
#include <sched.h>

struct points {
  const long *rows, *where;
  const R *weight;
  const long *source;
  const long *tape_rows, *tape_where, *tape_number;
  const long *columns, *tape_columns; /* x of what is injected and of what is taken */
};

/* What a half-step works on: MOST_BOXES boxes (z0, z1, y0, y1, x0, x1) for every entry, then for injections, then for tapes. */
#define INJECTED ENTRIES
#define TAPED (ENTRIES + 1)
typedef long part[ENTRIES + 2][MOST_BOXES][6];

#define PLANES (Z1 - Z0 + 2 * REACH)
#define ROWS (Y1 - Y0 + 2 * REACH)
F long clip(long x, long low, long high) { return x < low ? low : x > high ? high : x; }
F long row_number(int level, long k, long j) { return (level * PLANES + k - Z0 + REACH) * ROWS + j - Y0 + REACH; }

/* Launches of a level on the rows [y0, y1) of plane k: those without a lag, one after the other, for their boxes are apart, or those
   with one, each its lag behind, row by row, so that they find the rows ahead of theirs. */
static void plane(R *const *base, const R *scalar, const part *work, int level, int lagging, long k, long y0, long y1) {
  struct { const struct entry *x; R *own[MOST_ARRAYS]; long from, to, x0, x1; } now[ENTRIES * MOST_BOXES];
  int count = 0;
  long first = Y1 + 3 * REACH, last = Y0 - REACH;
  for (int e = 0; e < ENTRIES; ++e) {
    const struct entry *x = &entries[e];
    if (x->level != level || (x->lag > 0) != lagging) continue;
    for (int b = 0; b < MOST_BOXES; ++b) {
      const long *box = (*work)[e][b];
      if (k < box[0] || k >= box[1]) continue;
      const long from = clip(y0 - x->lag, box[2], box[3]), to = clip(y1 - x->lag, box[2], box[3]);
      if (from >= to) continue;
      for (int i = 0; i < MOST_ARRAYS; ++i) now[count].own[i] = base[x->array[i]];
      if (!lagging) {
        x->row(now[count].own, scalar, k, from, to, box[4], box[5]);
        continue;
      }
      now[count].x = x;
      now[count].x0 = box[4];
      now[count].x1 = box[5];
      now[count].from = from;
      now[count].to = to;
      if (from + x->lag < first) first = from + x->lag;
      if (to + x->lag > last) last = to + x->lag;
      ++count;
    }
  }
  for (long front = first; front < last; ++front)
    for (int e = 0; e < count; ++e) {
      const long j = front - now[e].x->lag;
      if (j >= now[e].from && j < now[e].to) now[e].x->row(now[e].own, scalar, k, j, j + 1, now[e].x0, now[e].x1);
    }
}

static void inject(const struct points *p, const part *work, int level, long k, long y0, long y1, const R *amplitude) {
  if (k < Z0 - REACH || k >= Z1 + REACH || y1 <= y0) return;
  for (int b = 0; b < MOST_BOXES; ++b) {
    const long *box = (*work)[INJECTED][b];
    const long from = y0 > box[2] ? y0 : box[2], to = y1 < box[3] ? y1 : box[3];
    if (k < box[0] || k >= box[1] || from >= to) continue;
    const long end = p->rows[row_number(level, k, to)];
    for (long n = p->rows[row_number(level, k, from)]; n < end; ++n)
      if (p->columns[n] >= box[4] && p->columns[n] < box[5]) *(R *)p->where[n] += p->weight[n] * amplitude[p->source[n]];
  }
}

static void record(const struct points *p, const part *work, int level, long k, long y0, long y1, R *tape) {
  if (k < Z0 - REACH || k >= Z1 + REACH || y1 <= y0) return;
  for (int b = 0; b < MOST_BOXES; ++b) {
    const long *box = (*work)[TAPED][b];
    const long from = y0 > box[2] ? y0 : box[2], to = y1 < box[3] ? y1 : box[3];
    if (k < box[0] || k >= box[1] || from >= to) continue;
    const long end = p->tape_rows[row_number(level, k, to)];
    for (long n = p->tape_rows[row_number(level, k, from)]; n < end; ++n)
      if (p->tape_columns[n] >= box[4] && p->tape_columns[n] < box[5]) tape[p->tape_number[n]] = *(const R *)p->tape_where[n];
  }
}

#define ARGUMENTS R *const *base, const R *scalar, long start, long count, const R *amplitude, long amplitude_steps, \
  long sources, const long *rows, const long *where, const R *weight, const long *source, const long *tape_rows, \
  const long *tape_where, const long *tape_number, const long *columns, const long *tape_columns, R *tape, long taped, const part *work
#define AMPLITUDE(level, step) (amplitude + ((level) * amplitude_steps + (step)) * sources)
#define TAPE_LAG (REACH - 1) /* after the launches of a level that lag behind */

void run(ARGUMENTS, long tile, long threads) {
  const struct points points = {rows, where, weight, source, tape_rows, tape_where, tape_number, columns, tape_columns};
  const long halves = LEVELS * count, below = Z0 - REACH, above = Z1 + REACH;
  const long reach = Y1 + REACH + REACH * (halves - 1) + TAPE_LAG, first = Y0 - REACH;
  const long tiles = (reach - first + tile - 1) / tile;
  long *done = (long *)__builtin_malloc((tiles + 1) * 8 * sizeof(long)); /* one cache line a tile */
  for (long t = 0; t <= tiles; ++t) done[8 * t] = t ? below - 1 : above + REACH * halves;
#pragma omp parallel num_threads(threads)
  {
    for (long t = omp_get_thread_num(); t < tiles; t += omp_get_num_threads()) {
      const long low = t ? first + t * tile : -(1L << 40), high = t + 1 < tiles ? first + (t + 1) * tile : 1L << 40;
      for (long p = below; p < above + REACH * (halves - 1); ++p) {
        for (int spin = 0; __atomic_load_n(&done[8 * t], __ATOMIC_ACQUIRE) < p; ++spin)
          if (spin > 1000) sched_yield();
        for (long m = 0; m < halves; ++m) {
          const long k = p - REACH * m;
          if (k < below || k >= above) continue;
          const int level = m % LEVELS;
          const long step = start + m / LEVELS, y0 = low - REACH * m, y1 = high - REACH * m;
          plane(base, scalar, work + m, level, 0, k, y0, y1);
          inject(&points, work + m, level, k, clip(y0, Y0 - REACH, Y1 + REACH), clip(y1, Y0 - REACH, Y1 + REACH), AMPLITUDE(level, step));
          plane(base, scalar, work + m, level, 1, k, y0, y1);
          record(&points, work + m, level, k, clip(y0 - TAPE_LAG, Y0 - REACH, Y1 + REACH), clip(y1 - TAPE_LAG, Y0 - REACH, Y1 + REACH), tape + step * taped);
        }
        __atomic_store_n(&done[8 * (t + 1)], p, __ATOMIC_RELEASE);
      }
    }
  }
  __builtin_free(done);
}

/* A turn of a level over the whole box: its launches and injections, its launches with a lag, its tape. */
void level(ARGUMENTS, long level, long turn) {
  const struct points points = {rows, where, weight, source, tape_rows, tape_where, tape_number, columns, tape_columns};
  for (long k = Z0 - REACH; k < Z1 + REACH; ++k) {
    if (turn == 2) {
      record(&points, work, level, k, Y0 - REACH, Y1 + REACH, tape + start * taped);
      continue;
    }
    plane(base, scalar, work, level, turn, k, -(1L << 40), 1L << 40);
    if (turn == 0) inject(&points, work, level, k, Y0 - REACH, Y1 + REACH, AMPLITUDE(level, start));
  }
}

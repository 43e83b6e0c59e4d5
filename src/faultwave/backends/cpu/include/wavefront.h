/* The order of a stencil program: tiles of rows (y), a front of planes (z) and several steps in one pass.

   Half-step m of a pass (level m % LEVELS) works on plane p - Z_BEHIND(m) when the front is at p, and in tile t on the rows
   [y_t - Y_BEHIND(m), y_t+1 - Y_BEHIND(m)): every read finds its half-step, done in this tile or the one before, and nothing is
   overwritten that is still needed (blocking.py). The front moves by PLANES_AT_ONCE, and each half-step works on as many planes. The same distances do:
   half-steps before it have then worked on as many planes more, so that what it reads ahead is done, and what it overwrites they need no longer.
   From the plane TOGETHER on, a half-step works on all planes at once when it gets there, so that what reads several of them finds them at one time. A tile may be at p once the tile before has finished p, so threads take tiles in
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

/* What a half-step works on, one after the other: rows [y0, y1) of planes [z0, z1), and along x a range for every segment of the entry's
   rows; at the end injections and tapes, with a range of x. */
#define INJECTED ENTRIES
#define TAPED (ENTRIES + 1)
struct call { long entry, z0, z1, y0, y1, x[MOST_SEGMENTS][2]; };
struct part { const struct call *begin, *end; };

static const long z_behind[] = Z_OF_LEVELS, y_behind[] = Y_OF_LEVELS;
#define Z_BEHIND(m) (z_behind[(m) % LEVELS] + Z_OF_STEP * ((m) / LEVELS))
#define Y_BEHIND(m) (y_behind[(m) % LEVELS] + Y_OF_STEP * ((m) / LEVELS))
#define PLANES (Z1 - Z0 + 2 * REACH)
#define ROWS (Y1 - Y0 + 2 * REACH)
F long clip(long x, long low, long high) { return x < low ? low : x > high ? high : x; }
F long row_number(int level, long k, long j) { return (level * PLANES + k - Z0 + REACH) * ROWS + j - Y0 + REACH; }

/* ``row``: the function of an entry for one plane, or that for ``both`` of two at once, which is 0 where there is none. */
static void rows_of(const struct call *c, row_function row, R *const *base, const R *scalar, long k, long from, long to) {
  R *own[MOST_ARRAYS];
  for (int i = 0; i < MOST_ARRAYS; ++i) own[i] = base[entries[c->entry].array[i]];
  row(own, scalar, k, from, to, c->x);
}

/* Launches without a lag on the rows [y0, y1) of plane k, one after the other, for their boxes are apart. */
static void plane(R *const *base, const R *scalar, struct part work, long k, long y0, long y1) {
  for (const struct call *c = work.begin; c < work.end; ++c) {
    if (k < c->z0 || k >= c->z1 || c->entry >= ENTRIES || entries[c->entry].lag) continue;
    const long from = clip(y0, c->y0, c->y1), to = clip(y1, c->y0, c->y1);
    if (from < to) rows_of(c, entries[c->entry].row, base, scalar, k, from, to);
  }
}

#define PLANES_AT_ONCE 2
/* The same of planes k and k + 1, where a launch has a function for both. */
static void two_planes(R *const *base, const R *scalar, struct part work, long k, long y0, long y1) {
  for (const struct call *c = work.begin; c < work.end; ++c) {
    if (c->entry >= ENTRIES || entries[c->entry].lag) continue;
    const long from = clip(y0, c->y0, c->y1), to = clip(y1, c->y0, c->y1);
    if (from >= to) continue;
    const int both = k >= c->z0 && k + 1 < c->z1 && entries[c->entry].both;
    if (both) rows_of(c, entries[c->entry].both, base, scalar, k, from, to);
    for (long at = k; !both && at < k + 2; ++at)
      if (at >= c->z0 && at < c->z1) rows_of(c, entries[c->entry].row, base, scalar, at, from, to);
  }
}

/* Those with one, each its lag behind, row by row, so that they find the rows ahead of theirs. */
static void plane_lagging(R *const *base, const R *scalar, struct part work, long k, long y0, long y1) {
  long first = Y1 + 3 * REACH, last = Y0 - REACH;
  for (const struct call *c = work.begin; c < work.end; ++c) {
    if (k < c->z0 || k >= c->z1 || c->entry >= ENTRIES || !entries[c->entry].lag) continue;
    const long lag = entries[c->entry].lag, from = clip(y0 - lag, c->y0, c->y1), to = clip(y1 - lag, c->y0, c->y1);
    if (from < to && from + lag < first) first = from + lag;
    if (from < to && to + lag > last) last = to + lag;
  }
  for (long front = first; front < last; ++front)
    for (const struct call *c = work.begin; c < work.end; ++c) {
      if (k < c->z0 || k >= c->z1 || c->entry >= ENTRIES || !entries[c->entry].lag) continue;
      const long j = front - entries[c->entry].lag;
      if (j >= c->y0 && j < c->y1 && front >= y0 && front < y1) rows_of(c, entries[c->entry].row, base, scalar, k, j, j + 1);
    }
}

/* Whether a level has points that are injected, or taken: else nobody looks for them, plane by plane. */
F int any_points(const long *rows, int level) {
  return rows[row_number(level, Z0 - REACH, Y0 - REACH)] < rows[row_number(level + 1, Z0 - REACH, Y0 - REACH)];
}

static void inject(R *const *base, const struct points *p, struct part work, int level, long k, long y0, long y1, const R *amplitude) {
  if (k < Z0 - REACH || k >= Z1 + REACH || y1 <= y0) return;
  for (const struct call *c = work.begin; c < work.end; ++c) {
    const long from = y0 > c->y0 ? y0 : c->y0, to = y1 < c->y1 ? y1 : c->y1;
    if (c->entry != INJECTED || k < c->z0 || k >= c->z1 || from >= to) continue;
    if (p->rows[row_number(level, k, from)] == p->rows[row_number(level, k, to)]) continue;
    for (long j = from; j < to; ++j) {
      const long *const ends = p->rows + row_number(level, k, j);
      for (long n = ends[0]; n < ends[1]; ++n)
        if (p->columns[n] >= c->x[0][0] && p->columns[n] < c->x[0][1]) *(R *)p->where[n] += p->weight[n] * amplitude[p->source[n]];
      if (ends[0] < ends[1]) injected_row(base, level, k, j);
    }
  }
}

static void record(const struct points *p, struct part work, int level, long k, long y0, long y1, R *tape) {
  if (k < Z0 - REACH || k >= Z1 + REACH || y1 <= y0) return;
  for (const struct call *c = work.begin; c < work.end; ++c) {
    const long from = y0 > c->y0 ? y0 : c->y0, to = y1 < c->y1 ? y1 : c->y1;
    if (c->entry != TAPED || k < c->z0 || k >= c->z1 || from >= to) continue;
    const long end = p->tape_rows[row_number(level, k, to)];
    for (long n = p->tape_rows[row_number(level, k, from)]; n < end; ++n)
      if (p->tape_columns[n] >= c->x[0][0] && p->tape_columns[n] < c->x[0][1]) tape[p->tape_number[n]] = *(const R *)p->tape_where[n];
  }
}

#define ARGUMENTS R *const *base, const R *scalar, const struct points *points, long start, long count, const R *amplitude, \
  long amplitude_steps, long sources, R *tape, long taped, const struct call *calls, const long *first_call
#define PART(m) (struct part){calls + first_call[m], calls + first_call[(m) + 1]}
#define AMPLITUDE(level, step) (amplitude + ((level) * amplitude_steps + (step)) * sources)
#define TAPE_LAG (REACH - 1) /* after the launches of a level that lag behind */

/* The planes that some calls work on. */
static void planes_of(const struct call *begin, const struct call *end, long *low, long *high) {
  *low = Z1 + REACH, *high = Z0 - REACH;
  for (const struct call *c = begin; c < end; ++c) {
    if (c->z0 < *low) *low = c->z0;
    if (c->z1 > *high) *high = c->z1;
  }
  *low = clip(*low, Z0 - REACH, TOGETHER);
  *high = clip(*high, Z0 - REACH, TOGETHER + 1);
}

/* Half-step m on the planes [k, end) and the rows [y0, y1). */
static void half_step(ARGUMENTS, long m, long k, long end, long y0, long y1) {
  const int level = m % LEVELS;
  const long step = start + m / LEVELS;
  const long from = clip(y0, Y0 - REACH, Y1 + REACH), to = clip(y1, Y0 - REACH, Y1 + REACH);
  const long tape_from = clip(y0 - TAPE_LAG, Y0 - REACH, Y1 + REACH), tape_to = clip(y1 - TAPE_LAG, Y0 - REACH, Y1 + REACH);
  for (long at = k; at < end; at += 2)
    if (at + 1 < end) two_planes(base, scalar, PART(m), at, y0, y1);
    else plane(base, scalar, PART(m), at, y0, y1);
  for (long at = k; any_points(points->rows, level) && at < end; ++at)
    inject(base, points, PART(m), level, at, from, to, AMPLITUDE(level, step));
  for (long at = k; at < end; ++at) plane_lagging(base, scalar, PART(m), at, y0, y1);
  for (long at = k; any_points(points->tape_rows, level) && at < end; ++at)
    record(points, PART(m), level, at, tape_from, tape_to, tape + step * taped);
}

#define GIVEN base, scalar, points, start, count, amplitude, amplitude_steps, sources, tape, taped, calls, first_call

void run(ARGUMENTS, long tile, long threads) {
  const long halves = LEVELS * count, above = Z1 + REACH;
  long below, last;
  planes_of(calls + first_call[0], calls + first_call[halves], &below, &last);
  const long reach = Y1 + REACH + Y_BEHIND(halves - 1) + TAPE_LAG, first = Y0 - REACH;
  const long tiles = (reach - first + tile - 1) / tile;
  long *done = (long *)__builtin_malloc((tiles + 1) * 8 * sizeof(long)); /* one cache line a tile */
  for (long t = 0; t <= tiles; ++t) done[8 * t] = t ? below - 1 : above + Z_BEHIND(halves);
#pragma omp parallel num_threads(threads)
  {
    for (long t = omp_get_thread_num(); t < tiles; t += omp_get_num_threads()) {
      const long low = t ? first + t * tile : -(1L << 40), high = t + 1 < tiles ? first + (t + 1) * tile : 1L << 40;
      for (long p = below; p < last + Z_BEHIND(halves - 1); p += PLANES_AT_ONCE) {
        for (int spin = 0; __atomic_load_n(&done[8 * t], __ATOMIC_ACQUIRE) < p; ++spin)
          if (spin > 1000) sched_yield();
        for (long m = 0; m < halves; ++m) {
          const long k = clip(p - Z_BEHIND(m), below, last), next = clip(p + PLANES_AT_ONCE - Z_BEHIND(m), below, last);
          if (k < next) half_step(GIVEN, m, k, next > TOGETHER ? above : next, low - Y_BEHIND(m), high - Y_BEHIND(m));
        }
        __atomic_store_n(&done[8 * (t + 1)], p, __ATOMIC_RELEASE);
      }
    }
  }
  __builtin_free(done);
}

/* A half-step of a tile that goes through several programs (joint.h), on those of the planes [k, end) that have something to do. */
void some_rows(ARGUMENTS, long m, long k, long end, long y0, long y1) {
  long below, last;
  planes_of(calls + first_call[m], calls + first_call[m + 1], &below, &last);
  last = last > TOGETHER ? Z1 + REACH : last;
  half_step(GIVEN, m, k < below ? below : k, end > last ? last : end, y0, y1);
}

/* A turn of a level over the whole box: its launches and injections, its launches with a lag, its tape. */
void level(ARGUMENTS, long level, long turn) {
  for (long k = Z0 - REACH; k < Z1 + REACH; ++k) {
    if (turn == 2) {
      record(points, PART(0), level, k, Y0 - REACH, Y1 + REACH, tape + start * taped);
      continue;
    }
    if (turn == 1) {
      plane_lagging(base, scalar, PART(0), k, -(1L << 40), 1L << 40);
      continue;
    }
    plane(base, scalar, PART(0), k, -(1L << 40), 1L << 40);
    inject(base, points, PART(0), level, k, Y0 - REACH, Y1 + REACH, AMPLITUDE(level, start));
  }
}

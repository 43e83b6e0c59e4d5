/* Half-steps of several programs that exchange planes, in tiles of rows that pass through all programs, so that points near their common
   faces stay in caches for several steps.

   In tile t an event processes the rows [rows t tile - behind, rows (t + 1) tile - behind), where ``rows`` is its number of rows for each row
   of the tile. Each event lags behind the events before it by enough rows that all it reads has been computed, in this tile or the previous
   one, and that nothing it overwrites is still needed (joint.py). A tile may begin an event once the previous tile has completed it; threads
   therefore take tiles in turn and follow each other. */
#include <omp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ``some_rows`` of wavefront.h with all arguments except the half-step and its rows. */
struct program {
  void (*run)(void *, void *, void *, long, long, void *, long, long, void *, long, void *, void *, long, long, long, long, long);
  void *base, *scalar, *points;
  long start, count;
  void *amplitude;
  long amplitude_steps, sources;
  void *tape;
  long taped;
  void *calls, *first_call;
};

/* Transfer: ``plane_product`` of planes.h with its arguments. The values come from a plane ``from`` of another program, whose first number
   belongs to row ``first_row`` and column ``first_column`` of the values; values outside the plane are zero. */
struct transfer {
  void (*product)(const void *, long, void *, long, long, long, const long *, const void *, long, const long *, const void *, long, long, long,
                  void *, long);
  long width;
  char *into;
  long stride, ny, nx;
  const long *row;
  const char *down;
  long downs;
  const long *place;
  const void *over;
  long overs, every, step, row_length;
  const char *from;
  long from_stride, from_rows, from_columns, first_row, first_column, size, deepest;
};

struct event {
  const struct program *program;
  const struct transfer *transfer;
  long half, first, end, rows, behind;
};

static long clip(long x, long low, long high) { return x < low ? low : x > high ? high : x; }

/* Compute rows [y0, y1) of a transferred plane; ``scratch`` first receives the rows of the other program that they depend on. */
static void transfer_rows(const struct transfer *t, char *scratch, long y0, long y1) {
  y0 = clip(y0, 0, t->ny), y1 = clip(y1, 0, t->ny);
  if (y0 >= y1) return;
  const long first = t->row[y0], end = t->row[y1 - 1] + t->downs, wide = t->width * t->size;
  const long left = clip(t->first_column, 0, t->width), right = clip(t->first_column + t->from_columns, left, t->width);
  for (long r = first; r < end; ++r) {
    char *to = scratch + (r - first) * wide;
    const long own = r - t->first_row;
    memset(to, 0, wide);
    if (own >= 0 && own < t->from_rows)
      memcpy(to + left * t->size, t->from + own * t->from_stride + (left - t->first_column) * t->size, (right - left) * t->size);
  }
  t->product(scratch - first * wide, t->width, t->into + y0 * t->stride * t->size, t->stride, y1 - y0, t->nx, t->row + y0,
             t->down + y0 * t->downs * t->size, t->downs, t->place, t->over, t->overs, t->every, t->step, scratch + t->deepest * wide, t->row_length);
}

/* Execute all events; ``scratch`` has ``own`` bytes for each thread. */
void joint(const struct event *events, long count, long tile, long tiles, long threads, char *scratch, long own) {
  long *done = (long *)malloc((tiles + 1) * 8 * sizeof(long)); /* one cache line a tile */
  for (long t = 0; t <= tiles; ++t) done[8 * t] = t ? 0 : count;
#pragma omp parallel num_threads(threads)
  for (long t = omp_get_thread_num(); t < tiles; t += omp_get_num_threads())
    for (long n = 0; n < count; ++n) {
      const struct event *e = events + n;
      const long low = t ? e->rows * t * tile - e->behind : -(1L << 40);
      const long high = t + 1 < tiles ? e->rows * (t + 1) * tile - e->behind : 1L << 40;
      for (int spin = 0; __atomic_load_n(&done[8 * t], __ATOMIC_ACQUIRE) <= n; ++spin)
        if (spin > 1000) sched_yield();
      if (e->transfer) transfer_rows(e->transfer, scratch + omp_get_thread_num() * own, low, high);
      else {
        const struct program *p = e->program;
        p->run(p->base, p->scalar, p->points, p->start, p->count, p->amplitude, p->amplitude_steps, p->sources, p->tape, p->taped, p->calls,
               p->first_call, e->half, e->first, e->end, low, high);
      }
      __atomic_store_n(&done[8 * (t + 1)], n + 1, __ATOMIC_RELEASE);
    }
  free(done);
}

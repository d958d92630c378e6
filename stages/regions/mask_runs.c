/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs are found by the bits in which a word differs from itself moved by one, and joined by a
 * forest in which each run points to an earlier one (R. Tarjan, 1975; K. Wu, E. Otoo and K. Suzuki,
 * 2009). Threads join the runs of their slices, and one of them then joins those of neighboring
 * slices of two threads.
 */
#include "stages/regions/mask_runs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 64 };

/* ---- finding runs ---------------------------------------------------------------------------- */

/* Returns word i of the bits at which a run begins, or behind which it ends, if each bit is
 * compared with the one before. */
static uint64_t changes_of(const uint64_t *row, int64_t i)
{
    return row[i] ^ (row[i] << 1 | (i > 0 ? row[i - 1] >> (WORD - 1) : 0));
}

static uint32_t count_runs(const uint64_t *row, int64_t n_words)
{
    uint32_t n = 0;
    for (int64_t i = 0; i < n_words; i++)
        n += (uint32_t)__builtin_popcountll(changes_of(row, i) & row[i]);
    return n;
}

/* The first change is where a run begins, the next one behind its end, and so on. */
uint32_t ts_mask_find_runs(const uint64_t *row, const struct mask_grid *grid, uint32_t first,
                           struct mask_run *runs)
{
    uint32_t k = first;
    bool open = false;
    for (int64_t i = 0; i < grid->n_words; i++)
        for (uint64_t changes = changes_of(row, i); changes; changes &= changes - 1) {
            const uint32_t x = (uint32_t)(i * WORD + __builtin_ctzll(changes));
            if (open)
                runs[k++].end = x;
            else
                runs[k] = (struct mask_run){.begin = x, .root = k};
            open = !open;
        }
    if (open)
        runs[k++].end = (uint32_t)grid->nx;
    return k - first;
}

/* ---- joining runs ---------------------------------------------------------------------------- */

static uint32_t find_root(struct mask_run *runs, uint32_t i)
{
    while (runs[i].root != i) {
        runs[i].root = runs[runs[i].root].root;
        i = runs[i].root;
    }
    return i;
}

static void join(struct mask_run *runs, uint32_t i, uint32_t j)
{
    const uint32_t a = find_root(runs, i), b = find_root(runs, j);
    runs[a > b ? a : b].root = a > b ? b : a;
}

/* Joins the runs of two rows that have voxels at most `apart` from each other along x. */
static void join_rows(struct mask_runs *all, int64_t row, int64_t other, uint32_t apart)
{
    struct mask_run *runs = all->runs;
    uint32_t i = all->row[row], j = all->row[other];
    while (i < all->row[row + 1] && j < all->row[other + 1]) {
        if (runs[i].begin < runs[j].end + apart && runs[j].begin < runs[i].end + apart)
            join(runs, i, j);
        if (runs[i].end < runs[j].end)
            i++;
        else
            j++;
    }
}

/* The rows before a row whose voxels are neighbors of its own. */
struct earlier {
    int z, y;
    uint32_t apart;
};

static int earlier_rows(enum mask_neighbors neighbors, struct earlier rows[4])
{
    const uint32_t edge = neighbors > MASK_6, corner = neighbors == MASK_26;
    rows[0] = (struct earlier){0, -1, edge};
    rows[1] = (struct earlier){-1, 0, edge};
    rows[2] = (struct earlier){-1, -1, corner};
    rows[3] = (struct earlier){-1, 1, corner};
    if (neighbors == MASK_4)
        return 1;
    return neighbors == MASK_6 ? 2 : 4;
}

/* Joins the runs of a slice to those of earlier rows, in the slice and in the one before. */
static void join_slice(struct mask_runs *runs, enum mask_neighbors neighbors, int64_t z,
                       bool in_slice, bool before)
{
    struct earlier rows[4];
    const int n = earlier_rows(neighbors, rows);
    const int64_t ny = runs->grid.ny;
    for (int64_t y = 0; y < ny; y++)
        for (int i = 0; i < n; i++) {
            const int64_t at_y = y + rows[i].y, at_z = z + rows[i].z;
            if (at_y >= 0 && at_y < ny && at_z >= 0 && (rows[i].z == 0 ? in_slice : before))
                join_rows(runs, z * ny + y, at_z * ny + at_y, rows[i].apart);
        }
}

static void join_all(struct mask_runs *runs, enum mask_neighbors neighbors, int threads)
{
    const int64_t nz = runs->grid.nz, parts = threads < nz ? threads : nz;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int64_t part = 0; part < parts; part++)
        for (int64_t z = nz * part / parts; z < nz * (part + 1) / parts; z++)
            join_slice(runs, neighbors, z, true, z > nz * part / parts);
    for (int64_t part = 1; part < parts; part++)
        join_slice(runs, neighbors, nz * part / parts, false, true);
    for (uint32_t i = 0; i < runs->n; i++)
        runs->runs[i].root = runs->runs[runs->runs[i].root].root;
}

enum ts_status ts_mask_runs_init(struct mask_runs *runs, const struct stage_context *context,
                                 const uint64_t *bits, enum mask_neighbors neighbors)
{
    *runs = (struct mask_runs){.grid = ts_mask_grid(&context->in)};
    const struct mask_grid *grid = &runs->grid;
    const int64_t n_rows = grid->nz * grid->ny;
    runs->row = malloc((size_t)(n_rows + 1) * sizeof *runs->row);
    if (!runs->row)
        return ts_diag_no_memory(context->diag, (size_t)(n_rows + 1) * sizeof *runs->row);
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t r = 0; r < n_rows; r++)
        runs->row[r + 1] = count_runs(bits + r * grid->n_words, grid->n_words);
    runs->row[0] = 0;
    for (int64_t r = 0; r < n_rows; r++)
        runs->row[r + 1] += runs->row[r];
    runs->n = runs->row[n_rows];
    runs->runs = malloc((size_t)runs->n * sizeof *runs->runs + 1);
    if (!runs->runs) {
        ts_mask_runs_clear(runs);
        return ts_diag_no_memory(context->diag, (size_t)runs->n * sizeof *runs->runs);
    }
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t r = 0; r < n_rows; r++)
        ts_mask_find_runs(bits + r * grid->n_words, grid, runs->row[r], runs->runs);
    join_all(runs, neighbors, context->threads);
    return TS_OK;
}

void ts_mask_runs_clear(struct mask_runs *runs)
{
    free(runs->row);
    free(runs->runs);
}

/* ---- parts ------------------------------------------------------------------------------------*/

void ts_mask_run_write(const struct mask_runs *runs, int64_t r, const struct mask_run *run,
                       bool value, uint64_t *bits)
{
    uint64_t *row = bits + r * runs->grid.n_words;
    for (uint32_t x = run->begin, end; x < run->end; x = end) {
        end = (x / WORD + 1) * WORD < run->end ? (x / WORD + 1) * WORD : run->end;
        const uint64_t word = UINT64_MAX >> (WORD - (end - x)) << x % WORD;
        row[x / WORD] = value ? row[x / WORD] | word : row[x / WORD] & ~word;
    }
}

static int compare_parts(const void *a, const void *b)
{
    const struct mask_part *p = a, *q = b;
    if (p->voxels != q->voxels)
        return p->voxels > q->voxels ? -1 : 1;
    return p->first < q->first ? -1 : p->first > q->first;
}

/* Writes the parts in order: large ones, which are few, are sorted by comparing them, and small
 * ones by counting how many there are of each size. `parts` has them in the order of their voxels.
 */
static void sort_parts(const struct mask_part *parts, uint32_t n, struct mask_part *sorted)
{
    enum { SMALL = 4096 };
    uint32_t places[SMALL + 1] = {0}, n_large = 0;
    for (uint32_t i = 0; i < n; i++)
        if (parts[i].voxels < SMALL)
            places[parts[i].voxels]++;
        else
            sorted[n_large++] = parts[i];
    qsort(sorted, n_large, sizeof *sorted, compare_parts);
    for (uint32_t size = SMALL, place = n_large; size-- > 0;) {
        const uint32_t of_size = places[size];
        places[size] = place;
        place += of_size;
    }
    for (uint32_t i = 0; i < n; i++)
        if (parts[i].voxels < SMALL)
            sorted[places[parts[i].voxels]++] = parts[i];
}

enum ts_status ts_mask_parts(const struct mask_runs *runs, struct ts_diag *diag,
                             struct mask_part **parts, uint32_t *n)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < runs->n; i++)
        k += runs->runs[i].root == i;
    uint32_t *number = malloc((size_t)runs->n * sizeof *number + 1);
    struct mask_part *found = malloc(2 * (size_t)k * sizeof *found + 1);
    if (!number || !found) {
        free(number);
        free(found);
        return ts_diag_no_memory(diag,
                                 (size_t)runs->n * sizeof *number + 2 * (size_t)k * sizeof *found);
    }
    *n = k;
    k = 0;
    for (uint32_t i = 0; i < runs->n; i++) {
        const struct mask_run *run = &runs->runs[i];
        if (run->root == i) {
            number[i] = k;
            found[*n + k++] = (struct mask_part){0, i};
        }
        found[*n + number[run->root]].voxels += run->end - run->begin;
    }
    sort_parts(found + *n, *n, found);
    free(number);
    *parts = found;
    return TS_OK;
}

enum ts_status ts_mask_keep_largest(const struct stage_context *context,
                                    enum mask_neighbors neighbors, uint64_t *bits)
{
    struct mask_runs runs;
    struct mask_part *parts = NULL;
    uint32_t n = 0;
    enum ts_status status = ts_mask_runs_init(&runs, context, bits, neighbors);
    if (status != TS_OK)
        return status;
    status = ts_mask_parts(&runs, context->diag, &parts, &n);
    for (int64_t r = 0; status == TS_OK && r < runs.grid.nz * runs.grid.ny; r++)
        for (uint32_t i = runs.row[r]; i < runs.row[r + 1]; i++)
            if (runs.runs[i].root != parts[0].first)
                ts_mask_run_write(&runs, r, &runs.runs[i], false, bits);
    free(parts);
    ts_mask_runs_clear(&runs);
    return status;
}

/* Turns a mask into what is not in it, and back. */
static void complement(const struct mask_grid *grid, uint64_t *bits)
{
    const uint64_t last = UINT64_MAX >> (grid->n_words * WORD - grid->nx);
    for (int64_t r = 0; r < grid->nz * grid->ny; r++)
        for (int64_t i = 0; i < grid->n_words; i++)
            bits[r * grid->n_words + i] ^= i + 1 < grid->n_words ? UINT64_MAX : last;
}

/* Marks the roots of the parts that reach the border. */
static void mark_open(const struct mask_runs *runs, bool across, bool *open)
{
    const struct mask_grid *grid = &runs->grid;
    for (int64_t r = 0; r < grid->nz * grid->ny; r++) {
        const int64_t z = r / grid->ny, y = r % grid->ny;
        const bool edge = y == 0 || y == grid->ny - 1 ||
                          (across && grid->nz > 1 && (z == 0 || z == grid->nz - 1));
        for (uint32_t i = runs->row[r]; i < runs->row[r + 1]; i++)
            if (edge || runs->runs[i].begin == 0 || runs->runs[i].end == grid->nx)
                open[runs->runs[i].root] = true;
    }
}

enum ts_status ts_mask_fill_holes(const struct stage_context *context, bool across, uint64_t *bits)
{
    const struct mask_grid grid = ts_mask_grid(&context->in);
    struct mask_runs runs;
    complement(&grid, bits);
    enum ts_status status = ts_mask_runs_init(&runs, context, bits, across ? MASK_6 : MASK_4);
    if (status != TS_OK)
        return status;
    bool *open = calloc((size_t)runs.n + 1, sizeof *open);
    if (open) {
        mark_open(&runs, across, open);
        for (int64_t r = 0; r < grid.nz * grid.ny; r++)
            for (uint32_t i = runs.row[r]; i < runs.row[r + 1]; i++)
                if (!open[runs.runs[i].root])
                    ts_mask_run_write(&runs, r, &runs.runs[i], false, bits);
    } else {
        status = ts_diag_no_memory(context->diag, (size_t)runs.n);
    }
    complement(&grid, bits);
    free(open);
    ts_mask_runs_clear(&runs);
    return status;
}

enum ts_status ts_mask_check_neighbors(const struct stage_context *context, int64_t neighbors)
{
    return neighbors == MASK_6 || neighbors == MASK_18 || neighbors == MASK_26
               ? TS_OK
               : ts_param_error(context->set, "neighbors", "neighbors-number", context->diag,
                                "%lld is not 6, 18 or 26", (long long)neighbors);
}

enum ts_status ts_mask_check_runs(const struct stage_context *context)
{
    const struct mask_grid grid = ts_mask_grid(&context->in);
    const int64_t most = grid.nz * grid.ny * MASK_ROW_RUNS(grid.nx);
    return most < UINT32_MAX
               ? TS_OK
               : ts_diag_error(context->diag, TS_BAD_CHAIN,
                               &(struct diag_site){.code = "mask-size",
                                                   .span = context->set->span,
                                                   .stage = context->stage->name},
                               "joins voxels of a volume of at most 4294967294 runs, and its rows "
                               "may have %" PRId64,
                               most);
}

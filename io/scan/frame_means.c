/* SPDX-License-Identifier: Apache-2.0 */
#include "io/scan/frame_means.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/timing.h"
#include "io/source/drop_views.h"

/* Most frames that are looked at; most blocks of detector pixels of a row, with their fewest
 * pixels, and the most of these that are looked at. */
enum { FRAMES = 16, BLOCKS = 32, FEW_BLOCKS = 4, LEAST_PIXELS = 16, MOST_PIXELS = 512 };

/* ---- means ----------------------------------------------------------------------------------- */

/* What the middle rows of some frames say: their means, and their noise. */
struct frame_means {
    double low, high, means[FRAMES];
    int n;
    double differences; /* magnitudes of differences of rows and of detector pixels side by side,
                           added up */
    int64_t n_differences, width;
};

/* Adds a row. `before` is the row that was added before it, NULL for the first one. */
static void add_row(struct frame_means *means, const double *row, const double *before, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += row[i];
    means->low = fmin(means->low, sum / (double)n);
    means->high = fmax(means->high, sum / (double)n);
    means->width = n;
    means->means[means->n++] = sum / (double)n;
    for (int64_t i = 1; before && i < n; i++, means->n_differences++)
        means->differences += fabs((row[i] - before[i]) - (row[i - 1] - before[i - 1]));
}

/* Returns by how much means may differ by noise: eight times the deviation of one, and more if the
 * noise is known from few values. Differences of four values have twice its deviation, and a mean
 * magnitude of sqrt(2 / pi) times that: single edges and zingers count little. */
static double noise_of_means(const struct frame_means *means)
{
    const double n = (double)means->n_differences;
    if (means->n_differences == 0) /* a single detector pixel, or a single frame */
        return INFINITY;
    return (8 + 80 / n) * sqrt(M_PI / 8) * means->differences / n / sqrt((double)means->width);
}

/* Hints at what helps if half of the frames or more are of another kind, which a median takes:
 * darks that are brighter, or flats that are darker, with none between them and the others. Returns
 * false if they are not. */
static bool hint_at_kind(const struct param_set *set, int64_t n, const struct frame_means *means,
                         bool darks, struct ts_diag *diag)
{
    const double range = means->high - means->low;
    bool other[FRAMES];
    int64_t count = 0;
    for (int i = 0; i < means->n; i++) {
        const double at = (means->means[i] - means->low) / range;
        if (fabs(at - 0.5) < 0.25)
            return false;
        other[i] = darks == (at > 0.5);
        count += other[i];
    }
    if (2 * count < means->n)
        return false;
    const struct view_ranges ranges = ts_view_ranges(other, means->n);
    if (n > means->n || !ts_drop_views_hint(set, &ranges, n, diag))
        ts_diag_hint(diag, "drop_views of this input leaves out those that are %s than %.6g",
                     darks ? "brighter" : "darker", 0.5 * (means->low + means->high));
    return true;
}

/* Returns true if something was said. Darks drift and are small: only frames of another kind are to
 * be found among them. */
static bool warn_of_means(const struct param_set *set, const char *path, bool darks, int64_t n,
                          const struct frame_means *means, struct ts_diag *diag)
{
    const double low = means->low, high = means->high;
    const struct diag_site site = {.code = darks ? "darks-differ" : "flats-differ",
                                   .span = set->spans[0],
                                   .stage = set->owner};
    if (!darks && low < 0) {
        const struct diag_site below = {
            .code = "counts-wrapped", .span = set->spans[0], .stage = set->owner};
        ts_diag_warning(
            diag, &below,
            "%s: the flats have means from %.6g to %.6g: counts below 0 are unsigned ones "
            "that are stored as signed integers, or had a larger dark taken off",
            path, low, high);
        ts_diag_hint(diag, "write the frames again as the unsigned integers that they are");
        return true;
    }
    if (!(high - low > (darks ? fmax(1, 0.5 * fabs(high)) : 0.01 * fabs(high))) ||
        !(high - low > noise_of_means(means)))
        return false;
    ts_diag_warning(diag, &site,
                    "%s: the %" PRId64 " %s are not alike: their means go from %.6g to %.6g", path,
                    n, darks ? "darks" : "flats", low, high);
    if (!hint_at_kind(set, n, means, darks, diag))
        ts_diag_hint(
            diag, darks
                      ? "flat_field: {combine: median} leaves out what differs from most of them"
                      : "flat_field: {combine: median} leaves out what differs from most of them, "
                        "as a flat that holds the sample; the stage air after flat_field makes up "
                        "for a beam that changes, by detector pixels beside the object, where "
                        "there are some");
    return true;
}

/* ---- profiles -------------------------------------------------------------------------------- */

/* A block of a row in which a frame differs from the first one by a part of its value. */
struct profile_change {
    double part;
    int64_t row, begin, end;
};

/* Writes the differences of some pixels of a block from those of the first frame, or their ratios
 * if the scale is 0. Returns how many. */
static int block_differences(const double *first, const double *row, double scale, int64_t begin,
                             int64_t end, double out[static MOST_PIXELS])
{
    const int64_t step = (end - begin + MOST_PIXELS - 1) / MOST_PIXELS;
    int n = 0;
    for (int64_t i = begin; i < end; i += step)
        if (scale > 0)
            out[n++] = row[i] / scale - first[i];
        else if (first[i] > 0)
            out[n++] = row[i] / first[i];
    return n;
}

/* Returns the number of blocks of a row, of which there are many or few. */
static int count_blocks(int64_t width, int most)
{
    return (int)(width / LEAST_PIXELS < most ? width / LEAST_PIXELS : most);
}

/* Returns how much brighter a row is than that of the first frame: the middle one of its blocks. */
static double row_scale(const double *first, const double *row, int64_t width)
{
    double values[MOST_PIXELS], middles[BLOCKS];
    const int n_blocks = count_blocks(width, BLOCKS);
    int n = 0;
    for (int block = 0; block < n_blocks; block++) {
        const int n_values = block_differences(first, row, 0, width * block / n_blocks,
                                               width * (block + 1) / n_blocks, values);
        if (n_values > 0)
            middles[n++] = ts_median(values, n_values);
    }
    return n > 0 ? ts_median(middles, n) : 0;
}

/* Returns the deviation of the median of n differences by noise, from those of neighbors: the
 * smaller seven eighths, whose mean is 0.6307 of the deviation if they are normal, so that zingers
 * and edges do not count. */
static double median_noise(const double *differences, int n)
{
    double steps[MOST_PIXELS], sum = 0;
    const int used = (n - 1) * 7 / 8;
    for (int i = 1; i < n; i++)
        steps[i - 1] = fabs(differences[i] - differences[i - 1]);
    (void)ts_median(steps, n - 1); /* sorts them */
    for (int i = 0; i < used; i++)
        sum += steps[i];
    return sqrt(M_PI / 2 / n) * sum / used / (0.6307 * sqrt(2));
}

/* Returns by which part of the first frame's value a block differs; 0 if that is less than the
 * noise, or the block has little light, as at the end of the beam. */
static double block_change(const double *first, const double *row, double scale, double mean,
                           int64_t begin, int64_t end)
{
    static const double beam = 0.25;
    double values[MOST_PIXELS], levels[MOST_PIXELS];
    const int64_t step = (end - begin + MOST_PIXELS - 1) / MOST_PIXELS;
    const int n = block_differences(first, row, scale, begin, end, values);
    const double noise = (8 + 80.0 / n) * median_noise(values, n);
    for (int i = 0; i < n; i++)
        levels[i] = first[begin + i * step];
    const double level = ts_median(levels, n), change = ts_median(values, n);
    return level > beam * mean && fabs(change) > noise ? change / level : 0;
}

/* Finds the block in which a row differs most from that of the first frame, if it is divided by
 * the scale: by more than 1 % and than noise. Returns false if there is none. */
static bool find_change(const double *first, const double *row, int64_t width, double scale,
                        struct profile_change *worst)
{
    static const int scales[] = {BLOCKS, FEW_BLOCKS};
    static const double least = 0.01;
    bool found = false;
    double mean = 0;
    for (int64_t i = 0; i < width; i++)
        mean += first[i] / (double)width;
    for (int k = 0; k < 2 && scale > 0; k++) {
        const int n = count_blocks(width, scales[k]);
        for (int block = 0; block < n; block++) {
            const int64_t begin = width * block / n, end = width * (block + 1) / n;
            const double part = block_change(first, row, scale, mean, begin, end);
            if (fabs(part) <= least)
                continue;
            found = true;
            if (fabs(part) > fabs(worst->part))
                *worst = (struct profile_change){part, worst->row, begin, end};
        }
    }
    return found;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Some of the frames, whose rows are read into a table. */
struct frame_look {
    const struct frame_rows *rows;
    int64_t frames[FRAMES], middle; /* the middle row */
    int n;
    double *table, scales[FRAMES]; /* how much brighter a frame is than the first */
    struct profile_change worst;
};

static double *look_row(const struct frame_look *look, int i)
{
    return look->table + i * look->rows->width;
}

static bool look_read(const struct frame_look *look, int i, int64_t frame, int64_t z)
{
    return look->rows->read(look->rows->context, frame, z, look_row(look, i));
}

/* Finds the frame whose row in the table differs most from that of the first. */
static bool look_find(struct frame_look *look, int from, int64_t z)
{
    bool found = false;
    for (int i = from; i < look->n; i++)
        found |= find_change(look_row(look, 0), look_row(look, i), look->rows->width,
                             look->scales[i], &look->worst);
    look->worst.row = z;
    return found;
}

/* Compares rows in the middle of the frames' thirds: the outer two of the first and the last frame,
 * and of the others if these differ. */
static bool look_compare(struct frame_look *look)
{
    static const int outer[] = {1, 5};
    const int last = look->n - 1;
    for (int i = 1; i < look->n; i++)
        look->scales[i] = row_scale(look_row(look, 0), look_row(look, i), look->rows->width);
    if (look_find(look, 1, look->middle))
        return true;
    for (int k = 0; k < 2 && look->rows->n_rows > 2; k++) {
        const int64_t z = look->rows->n_rows * outer[k] / 6;
        if (!look_read(look, 0, 0, z) || !look_read(look, last, look->frames[last], z))
            return false;
        if (!look_find(look, last, z))
            continue;
        for (int i = 1; i < last; i++)
            if (!look_read(look, i, look->frames[i], z))
                return false;
        return true;
    }
    return false;
}

/* Returns true if a row in the table has more than half of the worst change. */
static bool look_changed(const struct frame_look *look, int i, double scale)
{
    double values[MOST_PIXELS], levels[MOST_PIXELS];
    const int n = block_differences(look_row(look, 0), look_row(look, i), scale, look->worst.begin,
                                    look->worst.end, values);
    (void)block_differences(look_row(look, 0), look_row(look, 0), 0.5, look->worst.begin,
                            look->worst.end, levels); /* twice the first frame, less the first */
    return scale > 0 && ts_median(values, n) / ts_median(levels, n) / look->worst.part > 0.5;
}

/* Marks all frames that differ, of which those that are looked at are some. Those between two that
 * differ are searched, but for one place only. Returns false if they do not say it. */
static bool look_mark_all(struct frame_look *look, bool *marks)
{
    const int64_t n_frames = look->rows->n_frames;
    bool changed[FRAMES] = {false};
    int at = 0, n_places = 0;
    for (int i = 1; i < look->n; i++) {
        changed[i] = look_changed(look, i, look->scales[i]);
        n_places += changed[i] != changed[i - 1];
        at = changed[i] && !changed[i - 1] ? i : at;
    }
    if (n_frames <= look->n) {
        memcpy(marks, changed, (size_t)n_frames * sizeof *marks);
        return true;
    }
    if (n_places != 1)
        return false;
    int64_t low = look->frames[at - 1], high = look->frames[at];
    while (high - low > 1) {
        const int64_t frame = low + (high - low) / 2;
        if (!look_read(look, 1, frame, look->worst.row))
            return false;
        const double scale =
            look->worst.row == look->middle
                ? row_scale(look_row(look, 0), look_row(look, 1), look->rows->width)
                : look->scales[at];
        if (look_changed(look, 1, scale))
            high = frame;
        else
            low = frame;
    }
    for (int64_t i = 0; i < n_frames; i++)
        marks[i] = i >= high;
    return true;
}

/* Hints at drop_views of either kind of flats: only the user knows which have the views' beam. */
static enum ts_status hint_at_profiles(const struct param_set *set, struct frame_look *look,
                                       struct ts_diag *diag)
{
    const int64_t n = look->rows->n_frames;
    bool *marks = malloc((size_t)n * sizeof *marks);
    if (!marks)
        return ts_diag_no_memory(diag, (size_t)n * sizeof *marks);
    const bool known = look_mark_all(look, marks);
    const struct view_ranges other = ts_view_ranges(marks, n);
    for (int64_t i = 0; i < n; i++)
        marks[i] = !marks[i];
    const struct view_ranges first = ts_view_ranges(marks, n);
    const bool fits = strlen(other.ranges) + 1 < sizeof other.ranges &&
                      strlen(first.ranges) + 1 < sizeof first.ranges;
    free(marks);
    if (!ts_drop_views_may(set))
        ts_diag_hint(diag, "take flats that had the beam of the views");
    else if (!known || !fits)
        ts_diag_hint(diag, "drop_views of this input leaves out flats: keep those that had the "
                           "beam of the views");
    else
        ts_diag_hint(diag,
                     "drop_views: [%s] of this input leaves out those that differ from the first, "
                     "drop_views: [%s] the others: keep those that had the beam of the views",
                     other.ranges, first.ranges);
    return TS_OK;
}

static enum ts_status warn_of_profiles(const struct param_set *set, const char *path,
                                       struct frame_look *look, struct ts_diag *diag)
{
    const struct diag_site site = {
        .code = "flats-differ", .span = set->spans[0], .stage = set->owner};
    if (look->n < 2 || look->rows->width < LEAST_PIXELS || !look_compare(look))
        return TS_OK;
    ts_diag_warning(diag, &site,
                    "%s: the %" PRId64 " flats have means that are alike and profiles that are "
                    "not: in row %" PRId64 ", detector pixels %" PRId64 " to %" PRId64
                    " differ by %.3g %% from those of the first, as where the beam moved",
                    path, look->rows->n_frames, look->worst.row, look->worst.begin,
                    look->worst.end - 1, 100 * look->worst.part);
    return hint_at_profiles(set, look, diag);
}

enum ts_status ts_frame_means_warn(const struct param_set *set, const char *path, bool darks,
                                   const struct frame_rows *rows, struct ts_diag *diag)
{
    const int64_t n_frames = rows->n_frames, width = rows->width;
    struct frame_look look = {.rows = rows, .middle = rows->n_rows / 2};
    struct frame_means means = {.low = INFINITY, .high = -INFINITY};
    const int n = n_frames < FRAMES ? (int)n_frames : FRAMES;
    look.table = malloc((size_t)n * (size_t)width * sizeof *look.table);
    if (!look.table)
        return ts_diag_no_memory(diag, (size_t)n * (size_t)width * sizeof *look.table);
    for (; look.n < n; look.n++) {
        const double *row = look.table + look.n * width;
        look.frames[look.n] = n > 1 ? look.n * (n_frames - 1) / (n - 1) : 0;
        if (!look_read(&look, look.n, look.frames[look.n], look.middle))
            break;
        add_row(&means, row, look.n > 0 ? row - width : NULL, width);
    }
    const bool said = warn_of_means(set, path, darks, n_frames, &means, diag);
    const enum ts_status status = said || darks ? TS_OK : warn_of_profiles(set, path, &look, diag);
    free(look.table);
    return status;
}

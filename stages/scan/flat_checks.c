/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules of flat_checks.h, slice by slice. Most rows of most scans are done after a few views: a
 * detector pixel with noise has varied by then, and only those that stand out are looked at in all
 * views.
 */
#include "stages/scan/flat_checks.h"

#include <string.h>

#include "core/memory.h"
#include "stages/engine/validity.h"

double ts_flat_select(double *values, int64_t n, int64_t k)
{
    for (int64_t low = 0, high = n - 1; low < high;) {
        const double pivot = values[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i <= j) {
                const double value = values[i];
                values[i++] = values[j];
                values[j--] = value;
            }
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            break;
    }
    return values[k];
}

struct flat_room ts_flat_room(int64_t n_detectors, struct memory_layout *layout)
{
    const size_t n = (size_t)n_detectors;
    struct flat_room room;
    room.spreads = ts_layout_add(layout, n * sizeof(float));
    room.means = ts_layout_add(layout, n * sizeof(float));
    room.values = ts_layout_add(layout, n * sizeof(float));
    room.limits[0] = ts_layout_add(layout, n * sizeof(float));
    room.limits[1] = ts_layout_add(layout, n * sizeof(float));
    room.sorted = ts_layout_add(layout, n * sizeof(double));
    room.differs = ts_layout_add(layout, n);
    return room;
}

static const char *row_at(const struct ts_image *image, int64_t z, int64_t view)
{
    return (const char *)ts_slice_data(image, z) +
           (size_t)(view * image->axes[2].n) * ts_dtype_bytes(image->dtype);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static float median(const float *values, int64_t n, double *sorted)
{
    for (int64_t d = 0; d < n; d++)
        sorted[d] = ts_flat_positive(values[d]);
    return (float)ts_flat_select(sorted, n, (n - 1) / 2);
}

uint64_t ts_flat_find_zingers(const struct ts_image *frames, int64_t z, const float *gain,
                              const struct flat_room *room, float *limits)
{
    const int64_t n_frames = frames->axes[1].n, n = frames->axes[2].n;
    float *lowest = limits, *highest = room->spreads;
    uint64_t count = 0;
    for (int64_t frame = 0; frame < n_frames; frame++) {
        ts_load_f32(room->values, row_at(frames, z, frame), frames->dtype, (size_t)n);
        for (int64_t d = 0; d < n; d++) {
            const float value = room->values[d];
            lowest[d] = frame == 0 || value < lowest[d] ? value : lowest[d];
            highest[d] = frame == 0 || value > highest[d] ? value : highest[d];
            room->means[d] = frame == 0 ? value : room->means[d] + value;
        }
    }
    for (int64_t d = 0; d < n; d++) {
        room->spreads[d] = highest[d] - lowest[d];
        room->means[d] /= (float)n_frames;
    }
    const float spread = median(room->spreads, n, room->sorted),
                mean = median(room->means, n, room->sorted);
    for (int64_t d = 0; d < n; d++) {
        const float limit = ts_flat_limit(spread, mean, room->means[d], n_frames);
        const bool zinger =
            n_frames > 1 && ts_flat_is_zinger(room->spreads[d], limit, gain[d], n_frames);
        limits[d] = zinger ? lowest[d] + limit : INFINITY;
        count += zinger;
    }
    return count;
}

/* ---- detector pixels ------------------------------------------------------------------------- */

#define MARK(suffix, type)                                                                         \
    TS_VECTORIZED static bool mark_##suffix(const type *first, const type *row, int64_t n,         \
                                            unsigned char *differs)                                \
    {                                                                                              \
        unsigned char all = 1;                                                                     \
        for (int64_t d = 0; d < n; d++) {                                                          \
            differs[d] |= row[d] != first[d];                                                      \
            all &= differs[d];                                                                     \
        }                                                                                          \
        return all;                                                                                \
    }
MARK(1, uint8_t)
MARK(2, uint16_t)
MARK(4, uint32_t)

/* Marks detector pixels whose bytes differ from those in the first view. Returns true if all are
 * marked. */
static bool mark_differing(const void *first, const void *row, size_t bytes, int64_t n,
                           unsigned char *differs)
{
    if (bytes == 1)
        return mark_1(first, row, n, differs);
    return bytes == 2 ? mark_2(first, row, n, differs) : mark_4(first, row, n, differs);
}

static float transmission_at(struct flat_row row, const float *counts, int64_t d)
{
    return (counts[d] - row.offset[d]) * row.gain[d];
}

/* Extends the range of detector pixels that vary, from *first to *last, by those that are constant
 * without being stuck: the data has no noise, as an end of the row shows, and the object gets
 * thinner towards the ends. */
static void flat_checks_widen(struct flat_row row, const struct flat_room *room, int64_t n,
                              int64_t *first, int64_t *last)
{
    const float *counts = room->values;
    const bool noiseless =
        (*first > 0 && !ts_flat_is_stuck(false, transmission_at(row, counts, 0))) ||
        (*last < n - 1 && !ts_flat_is_stuck(false, transmission_at(row, counts, n - 1)));
    if (!noiseless || *first > *last)
        return;
    while (*first > 0 && ts_flat_gets_thinner(transmission_at(row, counts, *first),
                                              transmission_at(row, counts, *first - 1)))
        --*first;
    while (*last < n - 1 && ts_flat_gets_thinner(transmission_at(row, counts, *last),
                                                 transmission_at(row, counts, *last + 1)))
        ++*last;
}

uint64_t ts_flat_find_stuck(const struct ts_image *in, int64_t z, struct flat_row row,
                            bool count_dead, const struct flat_room *room)
{
    const int64_t n_views = in->axes[1].n, n = in->axes[2].n;
    const uint64_t *valid = ts_slice_valid(in, z);
    int64_t first = n, last = -1;
    uint64_t count = 0;
    for (int64_t d = 0; d < n; d++) /* what the mask of the first view leaves out is not judged */
        room->differs[d] = n_views < BAD_LEAST_VIEWS || (valid && !ts_valid_at(valid, (size_t)d));
    for (int64_t view = 1; view < n_views; view++)
        if (mark_differing(row_at(in, z, 0), row_at(in, z, view), ts_dtype_bytes(in->dtype), n,
                           room->differs))
            break;
    for (int64_t d = 0; d < n; d++)
        if (room->differs[d]) {
            first = d < first ? d : first;
            last = d;
        }
    ts_load_f32(room->values, row_at(in, z, 0), in->dtype, (size_t)n);
    int64_t low = first, high = last;
    flat_checks_widen(row, room, n, &low, &high);
    for (int64_t d = 0; d < n; d++) {
        const bool inside = d > first && d < last, thin = d >= low && d <= high && !inside;
        if (!room->differs[d] && !thin &&
            ts_flat_is_stuck(inside, transmission_at(row, room->values, d)))
            count += count_dead || !isnan(row.gain[d]);
        else
            room->differs[d] = 1;
    }
    return count;
}

/* Returns true if the mean transmission of a detector pixel stands out from that of its
 * neighbors. */
static bool transmission_stands_out(const struct ts_image *in, int64_t z, struct flat_row row,
                                    int64_t d)
{
    struct flat_near near = ts_flat_near(in->axes[2].n, d);
    const size_t skipped = (size_t)near.first * ts_dtype_bytes(in->dtype);
    float counts[2 * BAD_BESIDE + 1];
    for (int64_t view = 0; view < in->axes[1].n; view++) {
        ts_load_f32(counts, row_at(in, z, view) + skipped, in->dtype, (size_t)near.n);
        for (int64_t i = 0; i < near.n; i++) {
            const float transmission =
                (counts[i] - row.offset[near.first + i]) * row.gain[near.first + i];
            if (fabsf(transmission) <= FLT_MAX)
                ts_bad_column_add(&near.columns[i], transmission);
        }
    }
    return ts_flat_stands_out(&near);
}

uint64_t ts_flat_find_uneven(const struct ts_image *in, int64_t z, struct flat_row row,
                             const struct flat_room *room)
{
    const int64_t n = in->axes[2].n;
    uint64_t count = 0;
    for (int64_t d = 0; d < n; d++)
        count += ts_flat_gain_stands_out(row.gain, room->differs, n, d) &&
                 transmission_stands_out(in, z, row, d);
    return count;
}

/* ---- full scale ------------------------------------------------------------------------------ */

/* Counts the values of a slice that are `largest`, and those a step below it. */
static void count_top(const struct ts_image *in, const uint64_t *valid, int64_t z, float largest,
                      float step, bool same_mask, float *values, uint64_t counts[2])
{
    const int64_t n = in->axes[2].n;
    for (int64_t view = 0; view < in->axes[1].n; view++) {
        ts_load_f32(values, row_at(in, z, view), in->dtype, (size_t)n);
        for (int64_t d = 0; d < n; d++) {
            const bool measured =
                !valid || ts_valid_at(valid, (size_t)((same_mask ? 0 : view) * n + d));
            counts[0] += measured && values[d] == largest;
            counts[1] += measured && values[d] == largest - step;
        }
    }
}

uint64_t ts_flat_count_piled(const struct ts_image *in, const struct ts_image *flats, int64_t z,
                             float largest, float *values)
{
    const float step = ts_flat_full_scale_step(largest);
    uint64_t counts[2] = {0};
    double low, high;
    ts_dtype_range(in->dtype, &low, &high);
    if (step == 0 || (ts_dtype_is_integer(in->dtype) && (double)largest == high))
        return 0;
    count_top(in, ts_slice_valid(in, z), z, largest, step, false, values, counts);
    count_top(flats, ts_slice_valid(in, z), z, largest, step, true, values,
              counts); /* with the mask of the first view */
    return ts_flat_is_piled(counts[0], counts[1]) ? counts[0] : 0;
}

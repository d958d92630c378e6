/* SPDX-License-Identifier: Apache-2.0
 *
 * Each slice gives every k-th value to the sample, so that a sample has at most 4 million values
 * and does not depend on how slices were put.
 */
#include "io/sink/sink_scratch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/gray_window.h"
#include "core/path.h"
#include "core/search.h"
#include "io/file/file_bytes.h"

enum { SLICE_SAMPLE = 4096, MOST_SAMPLE = 4 << 20, BLOCK = 1024 };

/* Returns the distance of two values of a slice that are in the sample. */
static size_t step_of(const struct sink *sink)
{
    const size_t count = ts_slice_count(&sink->image), slices = (size_t)ts_sink_slices(sink);
    size_t wanted = MOST_SAMPLE / slices < SLICE_SAMPLE ? MOST_SAMPLE / slices : SLICE_SAMPLE;
    wanted = wanted > 0 ? wanted : 1;
    return (count + wanted - 1) / wanted;
}

static int open_file(const struct sink *sink)
{
    const struct staged *staged = &sink->staged[0];
    return staged->is_folder
               ? ts_file_scratch(staged->folder, ts_base_name(staged->path))
               : ts_file_scratch(staged->file.folder, ts_base_name(staged->file.path));
}

/* Resets what was found in the values. */
static void forget(struct sink_scratch *scratch)
{
    scratch->low = scratch->hidden_low = INFINITY;
    scratch->high = scratch->hidden_high = -INFINITY;
    scratch->first = (double)NAN;
    scratch->step = INFINITY;
    scratch->has_nan = false;
    scratch->n_sample = 0;
}

enum ts_status ts_scratch_create(struct sink_scratch *scratch, const struct sink *sink,
                                 struct ts_diag *diag)
{
    const size_t step = step_of(sink), count = ts_slice_count(&sink->image);
    *scratch = (struct sink_scratch){.fd = open_file(sink)};
    forget(scratch);
    if (scratch->fd < 0)
        return ts_sink_failed(sink, errno, diag);
    scratch->most_sample = (size_t)ts_sink_slices(sink) * ((count + step - 1) / step);
    scratch->sample = malloc(scratch->most_sample * sizeof *scratch->sample);
    scratch->digest = ts_digest_create();
    return scratch->sample && scratch->digest
               ? TS_OK
               : ts_diag_no_memory(diag, scratch->most_sample * sizeof(float));
}

/* Replaces the values of invalid pixels by NaN, and notes their range. `values` are those of pixels
   [first, first + n). */
static void hide(struct sink_scratch *scratch, const struct sink *sink, int64_t z, size_t first,
                 double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (ts_sink_is_valid(sink, z, first + i))
            continue;
        scratch->hidden_low = values[i] < scratch->hidden_low ? values[i] : scratch->hidden_low;
        scratch->hidden_high = values[i] > scratch->hidden_high ? values[i] : scratch->hidden_high;
        values[i] = (double)NAN;
    }
}

/* Sets the step to the largest power of two that divides all distances from the first value.
   Measured values end this early, because 16 bits cannot count their steps. */
static void find_step(struct sink_scratch *scratch, const double *values, size_t n)
{
    enum { DIGITS = 53, MOST_STEPS = 65535 };
    for (size_t i = 0; i < n && scratch->step > 0; i++) {
        if (!isfinite(values[i]))
            continue;
        if (isnan(scratch->first))
            scratch->first = values[i];
        const double distance = values[i] - scratch->first;
        int exponent;
        const int64_t bits = (int64_t)ldexp(frexp(fabs(distance), &exponent), DIGITS);
        if (bits != 0)
            scratch->step = fmin(scratch->step, ldexp((double)(bits & -bits), exponent - DIGITS));
        if (fabs(distance) > MOST_STEPS * scratch->step || scratch->first + distance != values[i])
            scratch->step = 0;
    }
}

/* Examines the values of slice z: their range and step, whether all are finite, and the sample. */
static void look(struct sink_scratch *scratch, const struct sink *sink, int64_t z,
                 const unsigned char *slice, size_t step)
{
    const struct ts_image *slab = &sink->image;
    const size_t count = ts_slice_count(slab), width = ts_dtype_bytes(slab->dtype);
    double values[BLOCK], low = scratch->low, high = scratch->high;
    bool finite = true;
    size_t next = 0;
    for (size_t done = 0; done < count; done += BLOCK) {
        const size_t n = count - done < BLOCK ? count - done : BLOCK;
        ts_load_f64(values, slice + done * width, slab->dtype, n);
        if (sink->valid)
            hide(scratch, sink, z, done, values, n);
        find_step(scratch, values, n);
        for (size_t i = 0; i < n; i++) {
            const bool is = isfinite(values[i]);
            finite = finite && is;
            low = is && values[i] < low ? values[i] : low;
            high = is && values[i] > high ? values[i] : high;
        }
        for (; next < done + n; next += step)
            if (isfinite(values[next - done]))
                scratch->sample[scratch->n_sample++] = (float)values[next - done];
    }
    scratch->low = low;
    scratch->high = high;
    scratch->has_nan = scratch->has_nan || !finite;
}

enum ts_status ts_scratch_put(struct sink_scratch *scratch, const struct sink *sink,
                              const struct ts_image *slab, struct ts_diag *diag)
{
    const size_t bytes = ts_slice_bytes(slab), step = step_of(sink);
    for (int64_t z = 0; z < slab->axes[0].n; z++)
        look(scratch, sink, slab->z_first + z, ts_slice_data(slab, z), step);
    if (!ts_digest_add(scratch->digest, slab->data, ts_image_bytes(slab)))
        return ts_diag_no_memory(diag, bytes);
    return ts_file_write_at(scratch->fd, slab->data, ts_image_bytes(slab),
                            (uint64_t)slab->z_first * bytes)
               ? TS_OK
               : ts_sink_failed(sink, errno, diag);
}

/* Examines the values again: the mask was not known when they were put, so range, step and sample
   included invalid pixels. */
static enum ts_status look_again(struct sink_scratch *scratch, const struct sink *sink,
                                 struct ts_diag *diag)
{
    const size_t bytes = ts_slice_bytes(&sink->image), step = step_of(sink);
    unsigned char *slice = malloc(bytes);
    enum ts_status status = slice ? TS_OK : ts_diag_no_memory(diag, bytes);
    forget(scratch);
    for (int64_t z = 0; z < ts_sink_slices(sink) && status == TS_OK; z++) {
        if (ts_file_read_at(scratch->fd, slice, bytes, (uint64_t)z * bytes))
            look(scratch, sink, z, slice, step);
        else
            status = ts_sink_failed(sink, errno ? errno : EIO, diag);
    }
    free(slice);
    return status;
}

enum ts_status ts_scratch_end(struct sink_scratch *scratch, const struct sink *sink,
                              struct ts_diag *diag)
{
    if (!ts_digest_end(scratch->digest, scratch->digest_text))
        return ts_diag_no_memory(diag, DIGEST_TEXT_BYTES);
    return sink->valid ? look_again(scratch, sink, diag) : TS_OK;
}

enum ts_status ts_scratch_write_all(const struct sink_scratch *scratch, const struct sink *sink,
                                    scratch_write *write, struct ts_diag *diag)
{
    const size_t bytes = ts_slice_bytes(&sink->image);
    int failed = 0;
#pragma omp parallel for schedule(dynamic) num_threads(sink->request.threads)
    for (int64_t z = 0; z < ts_sink_slices(sink); z++) {
        unsigned char *slice = malloc(bytes);
        int error = slice ? 0 : ENOMEM;
        if (!error && !ts_file_read_at(scratch->fd, slice, bytes, (uint64_t)z * bytes))
            error = errno ? errno : EIO;
        if (!error)
            error = write(sink, z, slice);
        free(slice);
        if (error) {
#pragma omp atomic write
            failed = error;
        }
    }
    return failed ? ts_sink_failed(sink, failed, diag) : TS_OK;
}

struct sink_window ts_scratch_window(struct sink_scratch *scratch, const struct sink *sink)
{
    struct sink_window window = sink->request.window;
    struct gray_window known;
    if (window.given)
        return window;
    if (scratch->low < scratch->high &&
        ts_gray_window_known(&sink->image, scratch->low, scratch->high, &known)) {
        window.low = known.low;
        window.high = known.high;
        return window;
    }
    const size_t n = scratch->n_sample;
    qsort(scratch->sample, n, sizeof *scratch->sample, ts_compare_floats);
    window.low = n > 0 ? (double)scratch->sample[(n - 1) / 100] : 0;
    window.high = n > 0 ? (double)scratch->sample[n - 1 - (n - 1) / 100] : 0;
    if (!(window.high > window.low) && scratch->low < scratch->high) {
        window.low = scratch->low;
        window.high = scratch->high;
    }
    if (!(window.high > window.low))
        window.high = window.low + 1;
    return window;
}

void ts_scratch_clear(struct sink_scratch *scratch)
{
    if (scratch->fd > 0)
        close(scratch->fd);
    free(scratch->sample);
    ts_digest_destroy(scratch->digest);
    *scratch = (struct sink_scratch){.fd = -1};
}

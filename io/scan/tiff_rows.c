/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that are unchanged in the file need no library: they are read directly to their place, or
 * through scratch memory if the place has gaps or the values are converted. All other rows come in
 * pieces from a worker.
 */
#include "io/scan/tiff_rows.h"

#include "core/clamp.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/file_bytes.h"

enum { SCRATCH_BYTES = 1 << 20, PROCESS_BYTES = 8 << 20 };

struct wanted {
    int64_t row, n;
    unsigned char *out;
    size_t pitch;
    bool past_range; /* found: a value that a 32-bit float does not hold */
};

static size_t row_bytes(const struct tiff_pages *pages)
{
    return (size_t)pages->width * ts_dtype_bytes(pages->stored);
}

int64_t ts_tiff_piece_rows(const struct tiff_pages *pages, const struct tiff_page *page)
{
    const int64_t blocks = TIFF_PIECE_BYTES / (int64_t)(row_bytes(pages) * page->rows),
                  rows = (blocks < 1 ? 1 : blocks) * page->rows;
    return rows < pages->height ? rows : pages->height;
}

/* Returns how many rows the scratch of a thread holds. */
static int64_t scratch_rows(const struct tiff_pages *pages)
{
    const int64_t rows = SCRATCH_BYTES / (int64_t)row_bytes(pages);
    return ts_clamp(rows, 1, pages->height);
}

size_t ts_tiff_reading_bytes(const struct tiff_pages *pages)
{
    const size_t worker =
        PROCESS_BYTES + pages->piece_bytes + pages->block_bytes + pages->raw_bytes;
    return sizeof *pages + (size_t)scratch_rows(pages) * row_bytes(pages) +
           (pages->piece_bytes > 0 ? worker : 0);
}

struct tiff_pages ts_tiff_pages_copy(const struct tiff_pages *pages)
{
    struct tiff_pages copy = *pages;
    copy.fd = -1;
    copy.worker = NULL;
    copy.rows = NULL;
    return copy;
}

void ts_tiff_pages_close(struct tiff_pages *pages)
{
    ts_tiff_close_file(pages);
    ts_tiff_end_worker(pages);
    free(pages->rows);
    pages->rows = NULL;
}

/* Makes floats of integers of 64 bits, whose range they hold, and counts those that they round. */
static void round_row(float *restrict out, const void *integers, bool is_signed, int64_t n,
                      struct ts_rounding *rounding)
{
    for (int64_t i = 0; i < n; i++) {
        const long double value = is_signed ? (long double)((const int64_t *)integers)[i]
                                            : (long double)((const uint64_t *)integers)[i];
        out[i] = (float)value;
        const double change = (double)fabsl((long double)out[i] - value);
        rounding->n += change > 0;
        rounding->most = fmax(rounding->most, change);
    }
}

static void widen_row(double *restrict out, const void *integers, bool is_signed, int64_t n,
                      struct ts_rounding *rounding)
{
    for (int64_t i = 0; i < n; i++) {
        const long double value = is_signed ? (long double)((const int64_t *)integers)[i]
                                            : (long double)((const uint64_t *)integers)[i];
        out[i] = (double)value;
        const double change = (double)fabsl((long double)out[i] - value);
        rounding->n += change > 0;
        rounding->most = fmax(rounding->most, change);
    }
}

static bool narrow_row(float *restrict out, const double *restrict values, int64_t n)
{
    bool past_range = false;
    for (int64_t i = 0; i < n; i++) {
        out[i] = (float)values[i];
        past_range |= isfinite(values[i]) && !isfinite(out[i]);
    }
    return past_range;
}

/* Makes values of what is stored, by the line of the pages. */
static void calibrate_row(struct tiff_pages *pages, void *out, const void *in)
{
    enum { PIECE = 1024 };
    double values[PIECE];
    const size_t width = (size_t)pages->width, bytes = ts_dtype_bytes(pages->stored);
    for (size_t from = 0, n; from < width; from += n) {
        n = width - from < PIECE ? width - from : PIECE;
        ts_load_f64(values, (const unsigned char *)in + from * bytes, pages->stored, n);
        for (size_t i = 0; i < n; i++)
            values[i] = pages->line[0] + pages->line[1] * values[i];
        if (pages->dtype == TS_F64) {
            memcpy((double *)out + from, values, n * sizeof *values);
            continue;
        }
        narrow_row((float *)out + from, values, (int64_t)n);
        ts_rounding_of_doubles(&pages->rounding, values, n);
    }
}

/* Copies what is wanted of the n rows from `row` on. */
static void copy_rows(struct tiff_pages *pages, struct wanted *wanted, const void *rows,
                      int64_t row, int64_t n)
{
    const size_t bytes = row_bytes(pages);
    const int64_t end = row + n < wanted->row + wanted->n ? row + n : wanted->row + wanted->n;
    for (int64_t y = row > wanted->row ? row : wanted->row; y < end; y++) {
        unsigned char *out = wanted->out + (size_t)(y - wanted->row) * wanted->pitch;
        const unsigned char *in = (const unsigned char *)rows + (size_t)(y - row) * bytes;
        const double *doubles = (const double *)(const void *)in;
        if (pages->calibrated) {
            calibrate_row(pages, out, in);
        } else if (pages->stored == TS_F16) {
            ts_load_f32((float *)(void *)out, in, TS_F16, (size_t)pages->width);
        } else if (pages->stored == TS_U64 && pages->dtype == TS_F64) {
            widen_row((double *)(void *)out, in, pages->is_signed, pages->width, &pages->rounding);
        } else if (pages->stored == TS_U64) {
            round_row((float *)(void *)out, in, pages->is_signed, pages->width, &pages->rounding);
        } else if (pages->stored != pages->dtype) {
            wanted->past_range |= narrow_row((float *)(void *)out, doubles, pages->width);
            ts_rounding_of_doubles(&pages->rounding, doubles, (size_t)pages->width);
        } else
            memcpy(out, in, bytes);
    }
}

static void swap_values(void *values, size_t n, size_t bytes)
{
    uint16_t *shorts = values;
    uint32_t *longs = values;
    uint64_t *doubles = values;
    for (size_t i = 0; bytes == 2 && i < n; i++)
        shorts[i] = __builtin_bswap16(shorts[i]);
    for (size_t i = 0; bytes == 4 && i < n; i++)
        longs[i] = __builtin_bswap32(longs[i]);
    for (size_t i = 0; bytes == 8 && i < n; i++)
        doubles[i] = __builtin_bswap64(doubles[i]);
}

static enum ts_status read_file(const struct tiff_pages *pages, const struct tiff_page *page,
                                int64_t row, int64_t n, void *out, struct ts_diag *diag)
{
    const size_t bytes = row_bytes(pages), values = (size_t)(n * pages->width);
    if (!ts_file_read_at(pages->fd, out, (size_t)n * bytes, page->pixels + (uint64_t)row * bytes))
        return ts_tiff_refuse(pages, page->file, page->number, "tiff-truncated", diag,
                              "its pixels cannot be decoded whole: %s",
                              errno ? ts_errno_text(errno) : "data is missing");
    if (page->swapped)
        swap_values(out, values, ts_dtype_bytes(pages->stored));
    return TS_OK;
}

static enum ts_status read_plain_rows(struct tiff_pages *pages, const struct tiff_page *page,
                                      struct wanted *wanted, struct ts_diag *diag)
{
    if (wanted->pitch == row_bytes(pages) && pages->dtype == pages->stored)
        return read_file(pages, page, wanted->row, wanted->n, wanted->out, diag);
    const int64_t most = scratch_rows(pages), end = wanted->row + wanted->n;
    enum ts_status status = TS_OK;
    if (!pages->rows)
        pages->rows = malloc((size_t)most * row_bytes(pages));
    if (!pages->rows)
        return ts_diag_no_memory(diag, (size_t)most * row_bytes(pages));
    for (int64_t row = wanted->row; status == TS_OK && row < end; row += most) {
        const int64_t n = end - row < most ? end - row : most;
        status = read_file(pages, page, row, n, pages->rows, diag);
        if (status == TS_OK)
            copy_rows(pages, wanted, pages->rows, row, n);
    }
    return status;
}

static enum ts_status decode_rows(struct tiff_pages *pages, const struct tiff_page *page,
                                  struct wanted *wanted, struct ts_diag *diag)
{
    const int64_t most = ts_tiff_piece_rows(pages, page), end = wanted->row + wanted->n;
    struct tiff_job job;
    struct tiff_reply reply;
    memset(&job, 0, sizeof job); /* its gaps too, which are sent to another process */
    job.decode = true;
    job.page = *page;
    for (int64_t row = wanted->row / page->rows * page->rows, n; row < end; row += n) {
        n = (end - row + page->rows - 1) / page->rows * page->rows;
        n = n < most ? n : most;
        n = n < pages->height - row ? n : pages->height - row;
        job.row = (uint32_t)row;
        job.n = (uint32_t)n;
        const enum ts_status status = ts_tiff_ask(pages, &job, &reply, diag);
        if (status != TS_OK || reply.verdict.status != TS_OK)
            return status == TS_OK ? ts_tiff_report(pages, &reply, diag) : status;
        copy_rows(pages, wanted, ts_tiff_answer(pages), row, n);
    }
    return TS_OK;
}

enum ts_status ts_tiff_pages_read(struct tiff_pages *pages, int64_t page, int64_t row, int64_t n,
                                  void *out, size_t pitch, struct ts_diag *diag)
{
    const struct tiff_page *at = &pages->pages[page];
    struct wanted wanted = {.row = row, .n = n, .out = out, .pitch = pitch};
    enum ts_status status = ts_tiff_open(pages, at->file, true, diag);
    if (status == TS_OK)
        status = (at->pixels ? read_plain_rows : decode_rows)(pages, at, &wanted, diag);
    return status == TS_OK && wanted.past_range
               ? ts_tiff_refuse(pages, at->file, at->number, "tiff-range", diag,
                                "it holds values past the range of 32-bit floats")
               : status;
}

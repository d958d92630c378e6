/* SPDX-License-Identifier: Apache-2.0
 *
 * These tests inflate chunks that the device compressed, by zlib, libdeflate and, where it is
 * installed, ISA-L: 10,000 fuzzed inputs a level (all small lengths, every width, constant, random,
 * two values, ramps, NaNs, periods, steps, last chunks that are partly filled). They check the
 * checksum as a reader of HDF5 does, that the bytes do not depend on what is compressed together,
 * and the ratios on real slices.
 */
#ifdef TS_HAVE_CUDA
#include <criterion/criterion.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef TS_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

#include "cuda/deflate/deflate.h"
#include "cuda/device/session.h"
#include "io/file/chunks.h"
#include "tests/support/support.h"
#include "tests/support/test_device.h"

enum {
    FUZZED = 10000,
    STEP_OF_FEW = 250,
    SMALL_LENGTHS = 300,
    MOST_ELEMENTS = 100000,
    GUARD = 256
};

enum values { CONSTANT, RANDOM, TWO_VALUES, RAMP, NOT_A_NUMBER, SKEWED, PERIODIC, STEPS, KINDS };

/* This holds the memory for one call, on the host and on the device. */
struct bench {
    struct ts_diag *diag;
    struct cuda_session *session;
    size_t input_bytes, output_bytes, scratch_bytes;
    void *d_input, *d_output, *d_scratch;
    struct cuda_deflate_place *d_places, *places;
    unsigned char *input, *output, *shuffled, *inflated;
    struct libdeflate_decompressor *libdeflate;
};

static void expect_ok(struct bench *bench, enum ts_status status)
{
    cr_assert_eq(status, TS_OK, "%s",
                 ts_diag_count(bench->diag) ? ts_diag_get(bench->diag, 0)->message : "no record");
}

/* Begins work on the device, with memory for calls of the sizes of `job` and smaller ones. */
static void bench_begin(struct bench *bench, const struct cuda_deflate *job)
{
    ts_test_begin_cuda();
    *bench = (struct bench){.diag = ts_diag_create()};
    expect_ok(bench, ts_cuda_session_create(ts_test_device, 0, bench->diag, &bench->session));
    bench->input_bytes = (size_t)job->n_chunks * job->chunk_bytes;
    bench->output_bytes = ts_cuda_deflate_bound(job) + GUARD;
    bench->scratch_bytes = ts_cuda_deflate_scratch_bytes(job, ts_test_device);
    bench->d_input = ts_cuda_allocate(bench->session, bench->input_bytes);
    bench->d_output = ts_cuda_allocate(bench->session, bench->output_bytes);
    bench->d_scratch = ts_cuda_allocate(bench->session, bench->scratch_bytes);
    bench->d_places =
        ts_cuda_allocate(bench->session, (size_t)job->n_chunks * sizeof *bench->places);
    cr_assert(bench->d_input && bench->d_output && bench->d_scratch && bench->d_places);
    bench->input = malloc(bench->input_bytes);
    bench->output = malloc(bench->output_bytes);
    bench->places = malloc((size_t)job->n_chunks * sizeof *bench->places);
    bench->shuffled = malloc(job->chunk_bytes);
    bench->inflated = malloc(job->chunk_bytes + 1);
    bench->libdeflate = libdeflate_alloc_decompressor();
    cr_assert(bench->input && bench->output && bench->places && bench->shuffled && bench->inflated);
}

static void bench_end(struct bench *bench)
{
    libdeflate_free_decompressor(bench->libdeflate);
    free(bench->inflated);
    free(bench->shuffled);
    free(bench->places);
    free(bench->output);
    free(bench->input);
    ts_cuda_session_destroy(bench->session);
    ts_diag_destroy(bench->diag);
    ts_test_end_cuda();
}

/* Compresses bench->input, and copies what came of it. Output and scratch memory are filled first,
 * so that nothing is taken for granted there. Returns the bytes of the output that are used. */
static size_t compress_chunks(struct bench *bench, const struct cuda_deflate *job)
{
    struct cuda_session *session = bench->session;
    const size_t inside = (size_t)(job->n_chunks - 1) * job->chunk_bytes + job->last_bytes;
    const size_t output_bytes = ts_cuda_deflate_bound(job) + GUARD;
    const size_t scratch_bytes = ts_cuda_deflate_scratch_bytes(job, ts_test_device);
    cr_assert(output_bytes <= bench->output_bytes && scratch_bytes <= bench->scratch_bytes);
    expect_ok(bench, ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_DEVICE, bench->d_input,
                                  bench->input, inside));
    expect_ok(bench, ts_cuda_fill(session, CUDA_COMPUTE, bench->d_output, 0xA5, output_bytes));
    expect_ok(bench, ts_cuda_fill(session, CUDA_COMPUTE, bench->d_scratch, 0xA5, scratch_bytes));
    expect_ok(bench, ts_cuda_deflate(job, ts_test_device, bench->d_input, bench->d_scratch,
                                     bench->d_output, bench->d_places,
                                     ts_cuda_stream(session, CUDA_COMPUTE), bench->diag));
    expect_ok(bench, ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_HOST, bench->places,
                                  bench->d_places, (size_t)job->n_chunks * sizeof *bench->places));
    expect_ok(bench, ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_HOST, bench->output,
                                  bench->d_output, output_bytes));
    expect_ok(bench, ts_cuda_wait(session, CUDA_COMPUTE));
    size_t end = 0;
    for (int64_t i = 0; i < job->n_chunks; i++) {
        cr_assert_eq(bench->places[i].offset, end, "chunk %lld begins elsewhere", (long long)i);
        end += bench->places[i].bytes;
        for (; end % CUDA_DEFLATE_ALIGNMENT; end++)
            cr_assert_eq(bench->output[end], 0, "behind chunk %lld", (long long)i);
    }
    cr_assert_leq(end + GUARD, output_bytes);
    for (size_t i = end; i < output_bytes; i++)
        cr_assert_eq(bench->output[i], 0xA5, "byte %zu behind the last chunk was written", i);
    return end;
}

/* Fills up and shuffles chunk i of the input, as inflating must give it. */
static void shuffle(struct bench *bench, const struct cuda_deflate *job, int64_t i)
{
    const size_t width = (size_t)job->width, n = job->chunk_bytes / width;
    const size_t inside = (i + 1 < job->n_chunks ? job->chunk_bytes : job->last_bytes) / width;
    const unsigned char *chunk = bench->input + (size_t)i * job->chunk_bytes;
    for (size_t j = 0; j < width; j++)
        for (size_t e = 0; e < n; e++)
            bench->shuffled[j * n + e] = e < inside ? chunk[e * width + j] : job->fill[j];
}

static void expect_shuffled(const struct bench *bench, size_t bytes, const char *by,
                            const char *what)
{
    cr_assert_eq(memcmp(bench->inflated, bench->shuffled, bytes), 0, "%s inflates other bytes: %s",
                 by, what);
}

static void inflate_chunk(struct bench *bench, const struct cuda_deflate *job, int64_t i,
                          const char *what)
{
    const unsigned char *data = bench->output + bench->places[i].offset;
    const size_t bytes = bench->places[i].bytes - CHUNK_CHECKSUM_BYTES, n = job->chunk_bytes;
    uLongf inflated = n + 1;
    shuffle(bench, job, i);
    cr_assert(ts_chunk_is_intact(data, bytes + CHUNK_CHECKSUM_BYTES), "the checksum is wrong: %s",
              what);
    const int code = uncompress(bench->inflated, &inflated, data, bytes);
    cr_assert_eq(code, Z_OK, "zlib fails with %d: %s", code, what);
    cr_assert_eq(inflated, n, "zlib inflates %lu bytes: %s", inflated, what);
    expect_shuffled(bench, n, "zlib", what);
    memset(bench->inflated, 0, n);
    /* No length out: the stream must fill the chunk exactly. */
    cr_assert_eq(
        libdeflate_zlib_decompress(bench->libdeflate, data, bytes, bench->inflated, n, NULL),
        LIBDEFLATE_SUCCESS, "libdeflate fails: %s", what);
    expect_shuffled(bench, n, "libdeflate", what);
#ifdef TS_HAVE_ISAL
    static struct inflate_state state;
    isal_inflate_init(&state);
    state.crc_flag = ISAL_ZLIB;
    state.next_in = (uint8_t *)data;
    state.avail_in = (uint32_t)bytes;
    state.next_out = bench->inflated;
    state.avail_out = (uint32_t)n;
    memset(bench->inflated, 0, n);
    cr_assert_eq(isal_inflate_stateless(&state), ISAL_DECOMP_OK, "ISA-L fails: %s", what);
    cr_assert_eq(state.total_out, n);
    expect_shuffled(bench, n, "ISA-L", what);
#endif
}

static void inflate_all(struct bench *bench, const struct cuda_deflate *job, const char *what)
{
    for (int64_t i = 0; i < job->n_chunks; i++)
        inflate_chunk(bench, job, i, what);
}

static unsigned char value_of(enum values values, const struct cuda_deflate *job,
                              const unsigned char *input, size_t i, const unsigned char two[2],
                              size_t period, uint64_t random)
{
    const size_t byte = i % (size_t)job->width;
    switch (values) {
    case CONSTANT:
        return two[byte % 2];
    case RANDOM:
        return (unsigned char)random;
    case TWO_VALUES:
        return two[random & 1];
    case RAMP:
        return (unsigned char)(i / (size_t)job->width >> 8 * byte);
    case NOT_A_NUMBER: /* of the width's float, with a payload now and then */
        return byte + 1 == (size_t)job->width   ? 0x7F
               : byte + 2 == (size_t)job->width ? 0xF8
               : random % 16                    ? 0
                                                : two[0];
    case SKEWED: /* each value half as often as the one before: the longest codes */
        return (unsigned char)__builtin_ctzll(random | 1ull << 40);
    case PERIODIC:
        return i < period ? (unsigned char)random : input[i - period];
    default:
        return i && random % 20 ? input[i - 1] : (unsigned char)(random >> 8);
    }
}

/* Draws case number k of a level, the same on every machine. */
static enum values draw(struct bench *bench, struct cuda_deflate *job, int k, uint64_t *state)
{
    static const int widths[] = {1, 2, 4, 8};
    const enum values values = (enum values)(ts_random_next(state) % KINDS);
    const size_t any = ts_random_next(state) % 16 ? 3000 : MOST_ELEMENTS;
    const size_t n = k < SMALL_LENGTHS ? (size_t)k + 1 : 1 + ts_random_next(state) % any;
    const size_t period = 1 + ts_random_next(state) % 600;
    unsigned char two[2];
    job->width = widths[ts_random_next(state) % 4];
    job->n_chunks = 1 + (int64_t)(ts_random_next(state) % 3);
    job->chunk_bytes = n * (size_t)job->width;
    job->last_bytes = (1 + ts_random_next(state) % n) * (size_t)job->width;
    for (int i = 0; i < 8; i++)
        job->fill[i] = (unsigned char)ts_random_next(state);
    for (int i = 0; i < 2; i++)
        two[i] = (unsigned char)ts_random_next(state);
    const size_t inside = (size_t)(job->n_chunks - 1) * job->chunk_bytes + job->last_bytes;
    for (size_t i = 0; i < inside; i++)
        bench->input[i] =
            value_of(values, job, bench->input, i, two, period, ts_random_next(state));
    return values;
}

static void fuzz(enum cuda_deflate_level level)
{
    static const char *const names[KINDS] = {"constant", "random", "two values", "ramp",
                                             "NaN",      "skewed", "periodic",   "steps"};
    const struct cuda_deflate largest = {
        .n_chunks = 3, .chunk_bytes = 8 * MOST_ELEMENTS, .width = 8, .level = level};
    const int step = getenv("TOMOSTAGE_TESTS_FEW") ? STEP_OF_FEW : 1;
    uint64_t state = 14;
    struct bench bench;
    bench_begin(&bench, &largest);
    for (int k = 0; k < FUZZED; k += step) {
        struct cuda_deflate job = {.level = level};
        char what[160];
        const enum values values = draw(&bench, &job, k, &state);
        snprintf(what, sizeof what,
                 "case %d: %s, %lld chunks of %zu bytes, width %d, the last one with %zu", k,
                 names[values], (long long)job.n_chunks, job.chunk_bytes, job.width,
                 job.last_bytes);
        compress_chunks(&bench, &job);
        inflate_all(&bench, &job, what);
    }
    bench_end(&bench);
}

Test(deflate, fuzzed_runs_inflate_to_themselves_on_cuda)
{
    fuzz(CUDA_DEFLATE_RUNS);
}

Test(deflate, fuzzed_matches_inflate_to_themselves_on_cuda)
{
    fuzz(CUDA_DEFLATE_MATCHES);
}

/* ---- the same bytes -------------------------------------------------------------------------- */

/* Values with runs and longer matches. */
static void fill_input(struct bench *bench, size_t bytes, size_t width)
{
    uint64_t state = 3;
    for (size_t i = 0; i < bytes; i++)
        bench->input[i] = (unsigned char)(i % width         ? i / 5000
                                          : i % 4096 < 1000 ? 7
                                                            : ts_random_next(&state) % 23 * 3);
}

static void same_bytes(enum cuda_deflate_level level)
{
    enum { CHUNKS = 5, WIDTH = 2, BYTES = 70001 * WIDTH };
    const struct cuda_deflate job = {.n_chunks = CHUNKS,
                                     .chunk_bytes = BYTES,
                                     .last_bytes = BYTES,
                                     .width = WIDTH,
                                     .level = level};
    struct cuda_deflate_place places[CHUNKS];
    struct bench bench;
    bench_begin(&bench, &job);
    unsigned char *input = malloc(CHUNKS * BYTES), *output = malloc(bench.output_bytes);
    cr_assert(input && output);
    fill_input(&bench, CHUNKS * BYTES, WIDTH);
    memcpy(input, bench.input, CHUNKS * BYTES);
    const size_t bytes = compress_chunks(&bench, &job);
    inflate_all(&bench, &job, "a batch");
    memcpy(output, bench.output, bytes);
    memcpy(places, bench.places, sizeof places);
    cr_assert_eq(compress_chunks(&bench, &job), bytes);
    cr_assert_eq(memcmp(output, bench.output, bytes), 0, "a second run gives other bytes");
    for (int i = 0; i < CHUNKS; i++) {
        struct cuda_deflate alone = job;
        alone.n_chunks = 1;
        memcpy(bench.input, input + (size_t)i * BYTES, BYTES);
        compress_chunks(&bench, &alone);
        cr_assert_eq(bench.places[0].bytes, places[i].bytes);
        cr_assert_eq(memcmp(bench.output, output + places[i].offset, places[i].bytes), 0,
                     "chunk %d alone differs", i);
    }
    free(output);
    free(input);
    bench_end(&bench);
}

Test(deflate, runs_are_the_same_bytes_in_every_run_and_batch_on_cuda)
{
    same_bytes(CUDA_DEFLATE_RUNS);
}

Test(deflate, matches_are_the_same_bytes_in_every_run_and_batch_on_cuda)
{
    same_bytes(CUDA_DEFLATE_MATCHES);
}

/* More chunks, and more segments in a chunk, than a block that places them has threads. */
Test(deflate, many_chunks_and_large_ones_inflate_to_themselves_on_cuda)
{
    static const struct cuda_deflate rows[] = {
        {.n_chunks = 600,
         .chunk_bytes = 1000,
         .last_bytes = 20,
         .width = 4,
         .level = CUDA_DEFLATE_RUNS},
        {.n_chunks = 2,
         .chunk_bytes = 8 * 1100000,
         .last_bytes = 8 * 1000000,
         .width = 8,
         .level = CUDA_DEFLATE_RUNS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench bench;
        bench_begin(&bench, &rows[i]);
        fill_input(&bench, (size_t)rows[i].n_chunks * rows[i].chunk_bytes, (size_t)rows[i].width);
        compress_chunks(&bench, &rows[i]);
        inflate_all(&bench, &rows[i], i ? "large chunks" : "many chunks");
        bench_end(&bench);
    }
}

/* The writer refuses an encoded chunk beyond its bound, so the bound of the device, alignment
 * aside, may not be larger. */
Test(deflate, the_writer_has_space_for_every_chunk)
{
    for (int width = 1; width <= 8; width *= 2)
        for (size_t n = 1; n < 3000000; n += n < 100 ? 1 : n / 3) {
            const size_t bytes = n * (size_t)width;
            const struct cuda_deflate job = {
                .n_chunks = 1, .chunk_bytes = bytes, .last_bytes = bytes, .width = width};
            const struct chunk_filters filters = {.element_bytes = (size_t)width, .level = 1};
            cr_expect_lt(ts_cuda_deflate_bound(&job),
                         ts_chunk_bound(&filters, bytes) + CUDA_DEFLATE_ALIGNMENT,
                         "%zu elements of %d bytes", n, width);
        }
}

/* ---- ratios ---------------------------------------------------------------------------------- */

/* The folder TOMOSTAGE_DEFLATE_FILES has 24 slices of a head, and half of them with noise;
 * docs/notes/deflate.md tells how they are made. */
Test(deflate, reaches_its_ratios_on_a_head_on_cuda)
{
    static const struct {
        const char *name;
        int width;
        enum cuda_deflate_level level;
        double goal;
    } rows[] = {{"ct_head.i16", 2, CUDA_DEFLATE_RUNS, 0.395},
                {"ct_head.f32", 4, CUDA_DEFLATE_RUNS, 0.733},
                {"ct_head.i16", 2, CUDA_DEFLATE_MATCHES, 0.365},
                {"ct_head.f32", 4, CUDA_DEFLATE_MATCHES, 0.725}};
    enum { CHUNK = 4 << 20, CHUNKS = 3 };
    const char *folder = getenv("TOMOSTAGE_DEFLATE_FILES");
    if (!folder) {
        fprintf(stderr, "SKIPPED the ratios of deflate: TOMOSTAGE_DEFLATE_FILES is not set\n");
        cr_skip_test("TOMOSTAGE_DEFLATE_FILES is not set");
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct cuda_deflate job = {.n_chunks = CHUNKS,
                                         .chunk_bytes = CHUNK,
                                         .last_bytes = CHUNK,
                                         .width = rows[i].width,
                                         .level = rows[i].level};
        char path[512];
        struct bench bench;
        bench_begin(&bench, &job);
        snprintf(path, sizeof path, "%s/%s", folder, rows[i].name);
        FILE *file = fopen(path, "rb");
        cr_assert(file && fread(bench.input, CHUNK, CHUNKS, file) == CHUNKS,
                  "%s does not have 12 MiB", path);
        fclose(file);
        const double ratio = (double)compress_chunks(&bench, &job) / (CHUNKS * CHUNK);
        inflate_all(&bench, &job, path);
        cr_assert_leq(ratio, rows[i].goal, "%s at level %d: %.4f", path, rows[i].level, ratio);
        bench_end(&bench);
    }
}
#endif

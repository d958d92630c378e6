/* SPDX-License-Identifier: Apache-2.0
 *
 * Chains on arrays: the values are those of the same chain on files, arrays of any strides are read
 * and written, nothing of an array in C order is copied, and wrong arrays are refused by name.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "cuda/device/session.h"
#include "include/tomostage_array.h"
#include "include/tomostage_context.h"
#include "tests/support/array_run.h"
#include "tests/support/folders.h"
#include "tests/support/support.h"
#include "tests/support/test_device.h"

enum { NZ = 7, NY = 11, NX = 13, PIXELS = NZ * NY * NX };

static struct ts_diag *diag;

static void begin(void)
{
    diag = ts_diag_create();
}

static void end(void)
{
    ts_diag_destroy(diag);
}

TestSuite(arrays, .init = begin, .fini = end);

static void fill(float *values)
{
    for (int i = 0; i < PIXELS; i++)
        values[i] = (float)(i * 7919 % 1000) - 300.0f;
}

static struct ts_array array_of(void *data, enum ts_dtype dtype)
{
    return ts_test_array(data, dtype, NZ, NY, NX);
}

static struct array_run plan_of(const char *text, const struct ts_array *in,
                                const struct ts_image *about)
{
    struct array_run trial;
    struct ts_options options = TS_OPTIONS_DEFAULT;
    options.device = "cpu";
    options.threads = 2;
    const enum ts_status status =
        ts_array_run_start(&trial, text, "volume", in, about, &options, diag);
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
    return trial;
}

static void execute(const struct array_run *trial)
{
    const enum ts_status status = ts_run_execute(trial->run, diag);
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
}

/* The mean of 3 x 3 pixels with the border reflected, plainly. */
static float mean_of_nine(const float *values, int z, int y, int x)
{
    double sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            const int row = y + dy < 0     ? 0
                            : y + dy >= NY ? NY - 1
                                           : y + dy,
                      column = x + dx < 0     ? 0
                               : x + dx >= NX ? NX - 1
                                              : x + dx;
            sum += (double)values[(z * NY + row) * NX + column];
        }
    return (float)(sum / 9);
}

static const char two_images[] = "memory volume | box radius=1 dimensions=2d | "
                                 "save name=smooth | rescale range=[-300,700]";

Test(arrays, images_are_written_to_arrays_again_and_again)
{
    static float values[PIXELS], smooth[PIXELS], scaled[PIXELS];
    fill(values);
    const struct ts_array in = array_of(values, TS_F32), first = array_of(smooth, TS_F32),
                          last = array_of(scaled, TS_F32);
    struct array_run trial = plan_of(two_images, &in, NULL);
    struct ts_image image;
    cr_assert_eq(ts_plan_describe(trial.plan, "smooth", &image, diag), TS_OK);
    cr_assert_eq(image.rank, 3);
    cr_assert_eq(image.dtype, TS_F32);
    cr_assert_eq(image.axes[2].n, NX);
    cr_assert_eq(ts_run_set_array(trial.run, "smooth", &first, diag), TS_OK);
    cr_assert_eq(ts_run_set_array(trial.run, "data", &last, diag), TS_OK);
    for (int round = 0; round < 3; round++) {
        memset(smooth, 0, sizeof smooth);
        execute(&trial);
        for (int i = 0; i < PIXELS; i++) {
            const float expected = mean_of_nine(values, i / (NY * NX), i / NX % NY, i % NX);
            cr_assert(fabsf(smooth[i] - expected) <= 1e-4f, "pixel %d: %g, not %g", i,
                      (double)smooth[i], (double)expected);
            cr_assert(fabsf(scaled[i] - (smooth[i] + 300) / 1000) <= 1e-6f);
        }
        values[round] += 10; /* a run reads what is there now */
    }
    ts_array_run_finish(&trial);
}

/* The planes, rows and columns of an array may lie anywhere, but for neighbors in a row. */
Test(arrays, strides_are_followed)
{
    static float values[PIXELS], moved[2 * PIXELS], out[2 * PIXELS];
    fill(values);
    struct ts_array in = array_of(moved, TS_F32), result = array_of(out, TS_F32);
    /* (y, z, x) in memory, with a gap behind every row; the planes of the result from last to
     * first */
    in.stride[0] = 2 * NX * (int64_t)sizeof(float);
    in.stride[1] = NZ * in.stride[0];
    in.stride[2] = sizeof(float);
    result.stride[2] = sizeof(float);
    result.stride[1] = NX * (int64_t)sizeof(float);
    result.stride[0] = -NY * result.stride[1];
    result.data = out + (NZ - 1) * NY * NX;
    for (int i = 0; i < PIXELS; i++)
        moved[((i / NX % NY) * NZ + i / (NY * NX)) * 2 * NX + i % NX] = values[i];
    struct array_run trial = plan_of("memory volume | rescale range=[-300,700]", &in, NULL);
    cr_assert_eq(ts_run_set_array(trial.run, "data", &result, diag), TS_OK);
    execute(&trial);
    for (int i = 0; i < PIXELS; i++) {
        const float got = out[(NZ - 1 - i / (NY * NX)) * NY * NX + i % (NY * NX)];
        cr_assert(fabsf(got - (values[i] + 300) / 1000) < 1e-6f, "pixel %d: %g", i, (double)got);
    }
    ts_array_run_finish(&trial);
}

struct slabs {
    int64_t next;
    float sum;
    enum ts_status answer;
};

static enum ts_status take(void *user, const struct ts_image *slab)
{
    struct slabs *slabs = user;
    cr_assert_eq(slab->z_first, slabs->next);
    slabs->next += slab->axes[0].n;
    for (int64_t i = 0; i < slab->axes[0].n * NY * NX; i++)
        slabs->sum += ((const float *)slab->data)[i];
    return slabs->answer;
}

Test(arrays, slabs_are_handed_over_in_order)
{
    static float values[PIXELS];
    for (int i = 0; i < PIXELS; i++)
        values[i] = 2;
    const struct ts_array in = array_of(values, TS_F32);
    struct slabs slabs = {.answer = TS_OK};
    struct array_run trial = plan_of("memory volume | box radius=1", &in, NULL);
    cr_assert_eq(ts_run_set_take(trial.run, "data", take, &slabs, diag), TS_OK);
    execute(&trial);
    cr_assert_eq(slabs.next, NZ);
    cr_assert_eq(slabs.sum, 2 * PIXELS);
    slabs = (struct slabs){.answer = TS_STOPPED};
    cr_assert_eq(ts_run_execute(trial.run, diag), TS_STOPPED);
    ts_array_run_finish(&trial);
}

Test(arrays, images_have_the_names_that_a_file_would_have)
{
    static float values[PIXELS];
    const struct ts_array in = array_of(values, TS_F32);
    struct array_run trial =
        plan_of("memory volume | box radius=1 | save name=smooth | invert", &in, NULL);
    cr_expect_str_eq(ts_plan_image_name(trial.plan, 0), "smooth");
    cr_expect_str_eq(ts_plan_image_name(trial.plan, 1), "data");
    cr_expect_null(ts_plan_image_name(trial.plan, 2));
    ts_array_run_finish(&trial);
}

Test(arrays, tables_stay_until_the_next_run)
{
    static float values[PIXELS];
    fill(values);
    const struct ts_array in = array_of(values, TS_F32);
    struct slabs slabs = {.answer = TS_OK};
    struct ts_image table;
    double sum = 0;
    struct array_run trial = plan_of("memory volume | statistics", &in, NULL);
    execute(&trial); /* for the tables only */
    cr_assert_eq(ts_run_table(trial.run, "statistics.mean", &table, diag), TS_OK);
    const double before = *(const double *)table.data;
    cr_assert_eq(ts_run_set_take(trial.run, "data", take, &slabs, diag), TS_OK);
    execute(&trial);
    for (int i = 0; i < PIXELS; i++)
        sum += (double)values[i];
    cr_assert_not_null(strstr(ts_run_table_name(trial.run, 0), "statistics."));
    cr_assert_eq(ts_run_table(trial.run, "statistics.mean", &table, diag), TS_OK);
    cr_assert_eq(table.dtype, TS_F64);
    cr_assert(fabs(*(const double *)table.data - sum / PIXELS) < 1e-9);
    cr_assert_eq(*(const double *)table.data, before);
    cr_assert_eq(ts_run_table(trial.run, "statistics.nothing", &table, diag), TS_BAD_CHAIN);
    ts_array_run_finish(&trial);
}

/* Texts of tables are the run's own: what the stages had is gone, and the memory is used again. */
Test(arrays, texts_of_tables_last_as_long_as_the_tables)
{
    static float values[PIXELS];
    enum { BLOCKS = 400, BLOCK = 1000 };
    static const char *const tables[][2] = {{"statistics.variance", "HU^2"},
                                            {"statistics.mean", "HU"},
                                            {"histogram.edges", "HU"},
                                            {"histogram#2.edges", "HU"}};
    char *blocks[BLOCKS];
    struct ts_image table,
        about = {
            .rank = 3,
            .dtype = TS_F32,
            .quantity = TS_HU,
            .unit = "HU",
            .axes = {{TS_AXIS_Z, NZ, 1, "mm"}, {TS_AXIS_Y, NY, 1, "mm"}, {TS_AXIS_X, NX, 1, "mm"}}};
    fill(values);
    const struct ts_array in = array_of(values, TS_F32);
    struct array_run trial =
        plan_of("memory volume | statistics | histogram bins=5 | box radius=1 | histogram bins=7",
                &in, &about);
    for (int round = 0; round < 2; round++) {
        execute(&trial);
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i] = malloc(BLOCK);
            memset(blocks[i], 'x', (size_t)i % BLOCK);
            blocks[i] = realloc(blocks[i], (size_t)i + 8);
            memset(blocks[i], 'x', (size_t)i + 8);
        }
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
            cr_assert_eq(ts_run_table(trial.run, tables[i][0], &table, diag), TS_OK);
            cr_assert_str_eq(table.unit, tables[i][1], "%s", tables[i][0]);
            for (int d = 0; d < table.rank; d++)
                cr_assert(table.axes[d].unit && table.axes[d].unit[0] != 'x');
        }
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
    }
    ts_array_run_finish(&trial);
}

/* What `about` says reaches the chain: angles, spacing, units. */
Test(arrays, a_sinogram_is_described)
{
    enum { VIEWS = 12, DETECTORS = 16 };
    static float rows[VIEWS * DETECTORS], slice[DETECTORS * DETECTORS];
    double angles[VIEWS];
    struct ts_array in = {.size = sizeof in,
                          .data = rows,
                          .dtype = TS_F32,
                          .rank = 3,
                          .n = {1, VIEWS, DETECTORS},
                          .cuda_device = -1},
                    out = in;
    for (int i = 0; i < VIEWS * DETECTORS; i++)
        rows[i] = i % DETECTORS > 3 && i % DETECTORS < 12 ? 1.0f : 0.0f;
    for (int v = 0; v < VIEWS; v++)
        angles[v] = 15.0 * v;
    struct ts_image about = {
        .rank = 3,
        .dtype = TS_F32,
        .quantity = TS_LINE_INTEGRAL,
        .unit = "1",
        .axes = {{.kind = TS_AXIS_Z, .n = 1, .spacing = 1, .unit = "mm"},
                 {.kind = TS_AXIS_VIEW, .n = VIEWS, .unit = "degree", .positions = angles},
                 {.kind = TS_AXIS_DETECTOR,
                  .n = DETECTORS,
                  .spacing = 0.5,
                  .unit = "mm",
                  .first = -3.75}}};
    struct array_run trial = plan_of("memory volume | fbp", &in, &about);
    struct ts_image image;
    memset(angles, 0, sizeof angles); /* it was copied */
    cr_assert_eq(ts_plan_describe(trial.plan, "data", &image, diag), TS_OK);
    cr_assert_eq(image.axes[1].n, DETECTORS);
    cr_assert_eq(image.axes[1].spacing, 0.5);
    cr_assert_eq(image.quantity, TS_ATTENUATION);
    out.data = slice;
    out.n[1] = DETECTORS;
    cr_assert_eq(ts_run_set_array(trial.run, "data", &out, diag), TS_OK);
    execute(&trial);
    /* a disc of 4 mm that is seen as 1 in every ray */
    cr_assert(slice[8 * DETECTORS + 8] > 0.1f && slice[8 * DETECTORS + 8] < 0.5f, "%g",
              (double)slice[8 * DETECTORS + 8]);
    ts_array_run_finish(&trial);
}

static void expect(enum ts_status status, enum ts_status expected, const char *code,
                   const char *part)
{
    cr_assert_eq(status, expected, "%s: status %d", code, status);
    const struct ts_diag_record *record = ts_diag_get(diag, ts_diag_count(diag) - 1);
    cr_assert_str_eq(record->code, code);
    cr_assert_not_null(strstr(record->message, part), "%s", record->message);
    ts_diag_clear(diag);
}

Test(arrays, wrong_ones_are_refused_by_name)
{
    static float values[PIXELS];
    static const char text[] = "memory volume | box radius=1";
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    const struct ts_options options = TS_OPTIONS_DEFAULT;
    cr_assert_eq(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag), TS_OK);
    expect(ts_plan_create(chain, &options, &plan, diag), TS_BAD_CHAIN, "memory-missing",
           "none was given");
    ts_plan_destroy(plan);
    const struct ts_array right = array_of(values, TS_F32);
    expect(ts_chain_set_array(chain, "other", &right, NULL, diag), TS_BAD_CHAIN, "memory-unknown",
           "no input 'memory other'");
    const struct {
        struct ts_array array;
        const char *part;
    } wrong[] = {
        {{0}, "of another version"},
        {{.size = sizeof right,
          .data = values,
          .dtype = TS_F32,
          .rank = 2,
          .n = {4, 4},
          .stride = {32, 4},
          .cuda_device = 0},
         "memory of a device and not in C order"},
        {{.size = sizeof right,
          .data = values,
          .dtype = TS_F32,
          .rank = 4,
          .n = {2, 4, 4, 4},
          .cuda_device = 0},
         "memory of a device and has several volumes"},
        {{.size = sizeof right,
          .data = (char *)values + 2,
          .dtype = TS_F32,
          .rank = 2,
          .n = {4, 4},
          .cuda_device = 0},
         "begins at no multiple of its element's bytes"},
        {{.size = sizeof right, .cuda_device = -1}, "no data"},
        {{.size = sizeof right, .data = values, .rank = 1, .cuda_device = -1}, "2 to 4 axes"},
        {array_of(values, TS_F64), "not of one of the types"},
        {array_of(values, TS_F16), "not of one of the types"},
        {{.size = sizeof right, .data = values, .dtype = TS_F32, .rank = 2, .cuda_device = -1},
         "without elements"},
        {{.size = sizeof right,
          .data = values,
          .dtype = TS_F32,
          .rank = 2,
          .n = {INT64_MAX / 2, 8},
          .cuda_device = -1},
         "more bytes than memory"},
        {{.size = sizeof right,
          .data = values,
          .dtype = TS_F32,
          .rank = 2,
          .n = {4, 4},
          .stride = {4, 16},
          .cuda_device = -1},
         "not contiguous along its last axis"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect(ts_chain_set_array(chain, "volume", &wrong[i].array, NULL, diag), TS_BAD_INPUT,
               "memory-array", wrong[i].part);
    struct ts_image about = {.rank = 3, .dtype = TS_F32};
    expect(ts_chain_set_array(chain, "volume", &right, &about, diag), TS_BAD_INPUT, "memory-about",
           "other sizes");
    ts_chain_destroy(chain);
}

Test(arrays, images_that_do_not_fit_are_refused)
{
    static float values[PIXELS], out[PIXELS];
    const struct ts_array in = array_of(values, TS_F32);
    struct ts_array other = array_of(out, TS_U16);
    struct array_run trial = plan_of("memory volume | box radius=1", &in, NULL);
    expect(ts_run_set_array(trial.run, "nothing", &other, diag), TS_BAD_CHAIN, "image-unknown",
           "'nothing'");
    expect(ts_run_set_array(trial.run, "data", &other, diag), TS_BAD_CHAIN, "memory-array",
           "another type");
    other.dtype = TS_F32;
    other.n[0]--;
    expect(ts_run_set_array(trial.run, "data", &other, diag), TS_BAD_CHAIN, "memory-array",
           "other sizes");
    expect(ts_run_execute(trial.run, diag), TS_BAD_CHAIN, "no-output", "no array and no file");
    ts_array_run_finish(&trial);
}

/* A chain that runs on the CPU does not read the memory of a device, nor write to it. */
Test(arrays, arrays_of_a_device_need_that_device)
{
    static float values[PIXELS];
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct ts_array there = array_of(values, TS_F32);
    const struct ts_array here = there;
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    const char *text = "memory volume | box radius=1";
    there.cuda_device = 0;
    options.device = "cpu";
    cr_assert_eq(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag), TS_OK);
    cr_assert_eq(ts_chain_set_array(chain, "volume", &there, NULL, diag), TS_OK);
    expect(ts_plan_create(chain, &options, &plan, diag), TS_BAD_CHAIN, "memory-device",
           "CUDA device 0, and the chain runs on cpu");
    cr_assert_null(plan);
    ts_chain_destroy(chain);
    struct array_run trial = plan_of(text, &here, NULL);
    expect(ts_run_set_array(trial.run, "data", &there, diag), TS_BAD_CHAIN, "memory-array",
           "cuda_device 0, which is a device that does not compute the chain: cpu does");
    ts_array_run_finish(&trial);
}

#ifdef TS_HAVE_CUDA
enum { MOST = 2 * PIXELS }; /* of the results below */

/* Host memory of MOST floats, and the same on the device. */
struct both {
    float *host;
    struct ts_array array;
};

static struct both both_of(struct cuda_session *session, const struct ts_image *image)
{
    struct both both = {.host = calloc(MOST, sizeof(float)),
                        .array = {.size = sizeof both.array,
                                  .data = ts_cuda_allocate(session, MOST * sizeof(float)),
                                  .dtype = image->dtype,
                                  .rank = 3,
                                  .cuda_device = ts_test_device->index}};
    for (int d = 0; d < 3; d++)
        both.array.n[d] = image->axes[d].n;
    cr_assert(both.host && both.array.data);
    cr_assert_leq(ts_image_bytes(image), MOST * sizeof(float));
    cr_assert_eq(ts_cuda_fill(session, CUDA_COMPUTE, both.array.data, 0xFF, MOST * sizeof(float)),
                 TS_OK);
    return both;
}

static void move(struct cuda_session *session, const struct both *both, bool to_device)
{
    cr_assert_eq(ts_cuda_copy(session, CUDA_COMPUTE, to_device ? CUDA_TO_DEVICE : CUDA_TO_HOST,
                              to_device ? both->array.data : (void *)both->host,
                              to_device ? (void *)both->host : both->array.data,
                              MOST * sizeof(float)),
                 TS_OK);
    cr_assert_eq(ts_cuda_wait(session, CUDA_COMPUTE), TS_OK);
}

/* Plans the chain on the test's device. `arrays`: an option. */
static struct array_run plan_on_device(const char *text, const struct ts_array *in,
                                       const char *device, bool arrays)
{
    struct array_run trial = {0};
    struct ts_options options = TS_OPTIONS_DEFAULT;
    options.device = device;
    options.force = true;
    options.arrays = arrays;
    enum ts_status status = ts_chain_parse(text, strlen(text), "test", NULL, &trial.chain, diag);
    if (status == TS_OK)
        status = ts_chain_set_array(trial.chain, "volume", in, NULL, diag);
    if (status == TS_OK)
        status = ts_plan_create(trial.chain, &options, &trial.plan, diag);
    if (status == TS_OK)
        status = ts_run_create(trial.plan, &trial.run, diag);
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK, "%s", text);
    return trial;
}

/* Runs a chain on arrays of the host and on arrays of the device, and compares the images. */
static void check_on_device(struct cuda_session *session, const char *text, const char *image,
                            const char *device)
{
    static float values[PIXELS], expected[MOST];
    fill(values);
    const struct ts_array here = array_of(values, TS_F32);
    struct ts_image made;
    struct array_run trial = plan_on_device(text, &here, "cuda", true);
    cr_assert_eq(ts_plan_describe(trial.plan, image, &made, diag), TS_OK);
    struct ts_array out = {
        .size = sizeof out, .data = expected, .dtype = made.dtype, .rank = 3, .cuda_device = -1};
    for (int d = 0; d < 3; d++)
        out.n[d] = made.axes[d].n;
    cr_assert_eq(ts_run_set_array(trial.run, image, &out, diag), TS_OK);
    execute(&trial);

    struct ts_image in = {.rank = 3, .dtype = TS_F32, .axes = {{.n = NZ}, {.n = NY}, {.n = NX}}};
    const struct both from = both_of(session, &in), to = both_of(session, &made);
    memcpy(from.host, values, sizeof values);
    move(session, &from, true);
    struct array_run there = plan_on_device(text, &from.array, device, true);
    char shown[8192];
    ts_plan_text(there.plan, false, shown, sizeof shown);
    cr_assert(!strstr(shown, "upload"), "%s", shown);
    if (made.dtype == in.dtype && memcmp(to.array.n, from.array.n, sizeof to.array.n) == 0) {
        cr_assert_eq(ts_run_set_array(there.run, image, &from.array, diag), TS_BAD_CHAIN);
        cr_assert(ts_test_record(diag, "memory-array"));
        ts_diag_clear(diag);
    }
    cr_assert_eq(ts_run_set_array(there.run, image, &to.array, diag), TS_OK);
    for (int round = 0; round < 2; round++) {
        execute(&there);
        move(session, &to, false);
        cr_assert_arr_eq(to.host, expected, ts_image_bytes(&made), "%s: %s", text, image);
    }
    ts_array_run_finish(&there);
    ts_array_run_finish(&trial);
    free(from.host);
    free(to.host);
}

Test(arrays, arrays_of_a_device_are_read_and_written_in_place_on_cuda)
{
    struct cuda_session *session = NULL;
    ts_test_begin_cuda();
    cr_assert_eq(ts_cuda_session_create(ts_test_device, 0, diag, &session), TS_OK);
    static const char *const chains[] = {
        "memory volume | box radius=2 dimensions=3d border=mirror | gaussian sigma=1",
        "memory volume | box radius=1 | equalize bins=16 | radon views=5 detectors=15",
        "memory volume | box radius=1 | statistics", "memory volume | statistics"};
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        check_on_device(session, chains[i], "data", "cuda");
        check_on_device(session, chains[i], "data", "auto");
    }
    check_on_device(session, two_images, "smooth", "cuda");
    /* The file records digests of the input, for which the slices are brought to the host. */
    char folder[64], text[256];
    ts_test_folder(folder, sizeof folder);
    for (int packed = 0; packed < 2; packed++) {
        snprintf(text, sizeof text,
                 "tomostage: 2\ninput: {memory: volume}\nstages: [box: {radius: 1}]\n"
                 "output: {hdf5: %s/out.h5%s}\n",
                 folder, packed ? "" : ", compression: none");
        check_on_device(session, text, "data", "cuda");
    }
    static float values[PIXELS], out[PIXELS];
    const struct ts_array in = array_of(values, TS_F32), result = array_of(out, TS_F32);
    struct array_run encoded = plan_on_device(text, &in, "cuda", false);
    cr_assert_eq(ts_run_set_array(encoded.run, "data", &result, diag), TS_BAD_CHAIN);
    cr_assert(ts_test_record(diag, "memory-encoded"));
    ts_array_run_finish(&encoded);
    ts_cuda_session_destroy(session);
    ts_test_end_cuda();
}
#endif

static enum ts_status look_where(void *user, const struct ts_image *slab)
{
    *(const void **)user = slab->data;
    return TS_OK;
}

/* The slabs of an array in C order lie in the array itself. */
Test(arrays, an_array_in_the_order_of_c_is_not_copied)
{
    static float values[PIXELS];
    const struct ts_array in = array_of(values, TS_F32);
    struct ts_array reversed = in;
    reversed.stride[2] = sizeof(float);
    reversed.stride[1] = NX * (int64_t)sizeof(float);
    reversed.stride[0] = -NY * reversed.stride[1];
    reversed.data = values + (NZ - 1) * NY * NX;
    for (int k = 0; k < 2; k++) {
        const void *data = NULL;
        struct array_run trial =
            plan_of("memory volume | save name=kept", k ? &reversed : &in, NULL);
        cr_assert_eq(ts_run_set_take(trial.run, "kept", look_where, &data, diag), TS_OK);
        execute(&trial);
        const bool inside = (const float *)data >= values && (const float *)data < values + PIXELS;
        cr_assert_eq(inside, k == 0);
        ts_array_run_finish(&trial);
    }
}

/* Slabs of the input would be read after others were written there. */
Test(arrays, an_output_over_an_input_is_refused)
{
    static float values[2 * PIXELS];
    const struct ts_array in = array_of(values + NX * NY, TS_F32);
    struct array_run trial = plan_of("memory volume | gaussian sigma=2 dimensions=3d", &in, NULL);
    for (int k = 0; k < 3; k++) {
        const struct ts_array out = array_of(values + k * NX * NY, TS_F32);
        expect(ts_run_set_array(trial.run, "data", &out, diag), TS_BAD_CHAIN, "memory-array",
               "overlaps an input");
    }
    const struct ts_array behind = array_of(values + NX * NY + PIXELS, TS_F32);
    cr_assert_eq(ts_run_set_array(trial.run, "data", &behind, diag), TS_OK);
    ts_array_run_finish(&trial);
}

/* A text of no bytes may have no place, as an empty view of a string in C++. */
Test(arrays, a_text_of_nothing_is_an_empty_chain)
{
    struct ts_chain *chain = NULL;
    expect(ts_chain_parse(NULL, 0, "test", NULL, &chain, diag), TS_BAD_CHAIN, "chain-empty",
           "has no bytes");
    expect(ts_context_parse(NULL, NULL, 0, NULL, NULL, &chain, diag), TS_BAD_CHAIN, "chain-empty",
           "has no bytes");
    expect(ts_chain_parse("", 0, "test", NULL, &chain, diag), TS_BAD_CHAIN, "chain-empty",
           "has no bytes");
    expect(ts_chain_parse(" ", 1, "test", NULL, &chain, diag), TS_BAD_CHAIN, "chain-empty",
           "is empty");
    expect(ts_chain_parse(NULL, 5, "test", NULL, &chain, diag), TS_BAD_CHAIN, "argument-null",
           "'text' is NULL, and its length is 5");
    expect(ts_context_parse(NULL, NULL, 1, NULL, NULL, &chain, diag), TS_BAD_CHAIN, "argument-null",
           "'text' is NULL, and its length is 1");
    cr_assert_null(chain);
}

/* What takes an image can be taken away again. */
Test(arrays, a_taker_may_be_removed)
{
    static float values[PIXELS], smooth[PIXELS], scaled[PIXELS];
    fill(values);
    const struct ts_array in = array_of(values, TS_F32), first = array_of(smooth, TS_F32),
                          last = array_of(scaled, TS_F32);
    struct slabs slabs = {.answer = TS_OK};
    struct array_run trial = plan_of(two_images, &in, NULL);
    cr_assert_eq(ts_run_set_array(trial.run, "smooth", NULL, diag), TS_OK, "there was none");
    cr_assert_eq(ts_run_set_array(trial.run, "smooth", &first, diag), TS_OK);
    cr_assert_eq(ts_run_set_array(trial.run, "data", &last, diag), TS_OK);
    execute(&trial);
    cr_assert(smooth[5] != 0 && scaled[5] != 0);
    memset(smooth, 0, sizeof smooth);
    memset(scaled, 0, sizeof scaled);
    cr_assert_eq(ts_run_set_array(trial.run, "smooth", NULL, diag), TS_OK);
    execute(&trial);
    cr_assert(smooth[5] == 0 && scaled[5] != 0);
    /* An array is taken away as what takes slabs is, and the other way round. */
    cr_assert_eq(ts_run_set_take(trial.run, "data", take, &slabs, diag), TS_OK);
    cr_assert_eq(ts_run_set_array(trial.run, "data", NULL, diag), TS_OK);
    cr_assert_eq(ts_run_set_array(trial.run, "smooth", &first, diag), TS_OK);
    execute(&trial);
    cr_assert(slabs.next == 0 && smooth[5] != 0);
    cr_assert_eq(ts_run_set_take(trial.run, "smooth", NULL, NULL, diag), TS_OK);
    expect(ts_run_execute(trial.run, diag), TS_BAD_CHAIN, "no-output", "no array and no file");
    cr_assert_eq(ts_run_set_take(trial.run, "data", take, &slabs, diag), TS_OK);
    cr_assert_eq(ts_run_set_take_device(trial.run, "data", NULL, NULL, diag), TS_OK);
    expect(ts_run_execute(trial.run, diag), TS_BAD_CHAIN, "no-output", "no array and no file");
    expect(ts_run_set_array(trial.run, "nothing", NULL, diag), TS_BAD_CHAIN, "image-unknown",
           "'nothing'");
    ts_array_run_finish(&trial);
}

/* An array gets the bytes that a file gets. */
Test(arrays, values_are_those_of_a_file)
{
    static float values[PIXELS], out[PIXELS], read[PIXELS];
    char folder[256], text[512], path[320];
    fill(values);
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    snprintf(text, sizeof text,
             "memory volume | gaussian sigma=1.3 | rescale range=[-300,700] | hdf5 %s", path);
    const struct ts_array in = array_of(values, TS_F32), result = array_of(out, TS_F32);
    struct array_run trial = plan_of(text, &in, NULL);
    cr_assert_eq(ts_run_set_array(trial.run, "data", &result, diag), TS_OK);
    execute(&trial);
    ts_array_run_finish(&trial);
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "/entry/data/data", H5P_DEFAULT);
    cr_assert_geq(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read), 0);
    H5Dclose(dataset);
    H5Fclose(file);
    cr_assert_eq(memcmp(read, out, sizeof out), 0);
    ts_test_remove_folder(folder);
}

Test(arrays, texts_are_cut_as_snprintf_does)
{
    char text[8];
    ts_diag_clear(diag);
    cr_assert_eq(ts_diag_text(diag, false, NULL, 0), 0);
    struct ts_chain *chain = NULL;
    (void)ts_chain_parse("box", 3, "test", NULL, &chain, diag);
    ts_chain_destroy(chain);
    const size_t length = ts_diag_text(diag, true, NULL, 0);
    cr_assert_gt(length, 20);
    cr_assert_eq(ts_diag_text(diag, true, text, sizeof text), length);
    cr_assert_eq(strlen(text), sizeof text - 1);
    cr_assert_eq(text[0], '{');
}

/* Each thread has a chain, a plan and a run of its own. */
static void *run_own(void *data)
{
    float *values = data, *out = calloc(PIXELS, sizeof *out);
    struct ts_diag *own = ts_diag_create();
    struct ts_options options = TS_OPTIONS_DEFAULT;
    options.device = "cpu";
    options.threads = 1;
    intptr_t wrong = 0;
    for (int round = 0; round < 20 && !wrong; round++) {
        static const char text[] = "memory volume | box radius=1 dimensions=2d | statistics";
        struct ts_chain *chain = NULL;
        struct ts_plan *plan = NULL;
        struct ts_run *run = NULL;
        const struct ts_array in = array_of(values, TS_F32), result = array_of(out, TS_F32);
        wrong = ts_chain_parse(text, strlen(text), "test", NULL, &chain, own) != TS_OK ||
                ts_chain_set_array(chain, "volume", &in, NULL, own) != TS_OK ||
                ts_plan_create(chain, &options, &plan, own) != TS_OK ||
                ts_run_create(plan, &run, own) != TS_OK ||
                ts_run_set_array(run, "data", &result, own) != TS_OK ||
                ts_run_execute(run, own) != TS_OK;
        ts_run_destroy(run);
        ts_plan_destroy(plan);
        ts_chain_destroy(chain);
        for (int i = 0; i < PIXELS && !wrong; i++)
            wrong =
                fabsf(out[i] - mean_of_nine(values, i / (NY * NX), i / NX % NY, i % NX)) > 1e-4f;
    }
    ts_diag_destroy(own);
    free(out);
    return (void *)wrong;
}

Test(arrays, plans_run_side_by_side)
{
    enum { THREADS = 4 };
    static float values[THREADS][PIXELS];
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        fill(values[t]);
        values[t][t] = 1000.0f * (float)t;
        cr_assert_eq(pthread_create(&threads[t], NULL, run_own, values[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        void *wrong;
        pthread_join(threads[t], &wrong);
        cr_assert_null(wrong, "thread %d", t);
    }
}

#ifndef TS_SANITIZED /* which count memory in their own way */
Test(arrays, plans_leave_no_memory_behind)
{
    static float values[PIXELS];
    size_t before = 0;
    fill(values);
    for (int round = 0; round < 60; round++) {
        cr_assert_null(run_own(values));
        if (round == 10)
            before = mallinfo2().uordblks;
    }
    cr_assert_lt(mallinfo2().uordblks, before + (64 << 10));
}
#endif

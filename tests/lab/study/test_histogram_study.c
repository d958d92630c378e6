/* SPDX-License-Identifier: Apache-2.0
 *
 * The studies of histograms. All methods come to the same counts, so that a wrong result ends a
 * study, but a method in the place of another does not. What tells kernels apart is their grid and
 * shared memory, the tables that strips leave, and the tries of tagged counts; the methods of the
 * stage are told apart in tests/stages/histogram.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lab/study/histogram_study.h"
#include "tests/lab/study/study_text.h"
#include "tests/support/stage_check.h"
#include "tests/support/support.h"

/* ---- rows ------------------------------------------------------------------------------------ */

static void expect_rows(const struct study *study, const char *const subjects[],
                        const char *const methods[], size_t n_rows)
{
    const struct study_request request = {.most = 256 * 256, .json = true};
    char *text = ts_test_study(study, request), pair[128];
    size_t n = 0;
    for (const char *row = text; (row = strchr(row, '{')); row++)
        n++;
    for (int s = 0; subjects[s]; s++)
        for (int m = 0; methods[m]; m++) {
            snprintf(pair, sizeof pair, "\"subject\": \"%s\", \"method\": \"%s\"", subjects[s],
                     methods[m]);
            cr_assert(strstr(text, pair), "no row with %s: %s", pair, text);
        }
    cr_assert_eq(n, n_rows, "%zu rows: %s", n, text);
    free(text);
}

TEST_ON_BOTH(histogram_study, ladder_has_every_version)
{
    static const char *const subjects[] = {"ct", NULL};
    static const char *const cpu[] = {"stage, sub-histogram", "stage, shared", "stage, occupancy",
                                      NULL};
    static const char *const cuda[] = {"V0",         "V1",         "V2, 1 row",   "V2, 2 rows",
                                       "V2, 4 rows", "V2, 8 rows", "V2, 16 rows", "stage, shared",
                                       NULL};
    expect_rows(&ts_histogram_ladder_study, subjects, ts_test_device ? cuda : cpu,
                ts_test_device ? 10 : 3);
}

TEST_ON_BOTH(histogram_study, memory_has_every_memory)
{
    static const char *const both[] = {"kernel", "with copies", NULL}, *const alone[] = {"kernel",
                                                                                         NULL};
    static const char *const cpu[] = {"stage histogram", NULL};
    static const char *const cuda[] = {"global, plain",
                                       "global, managed",
                                       "global, mapped",
                                       "shared, plain",
                                       "shared, managed",
                                       "shared, mapped",
                                       NULL};
    expect_rows(&ts_histogram_memory_study, ts_test_device ? both : alone,
                ts_test_device ? cuda : cpu, ts_test_device ? 20 : 2);
}

TEST_ON_BOTH(histogram_study, tagged_has_every_distribution)
{
    static const char *const subjects[] = {"ct", "uniform", "constant", "checker", NULL};
    static const char *const cpu[] = {"stage, shared", "stage, lane-private", NULL};
    static const char *const cuda[] = {"tagged",         "tagged, lanes apart", "atomic",
                                       "a table a lane", "stage, warp-tagged",  NULL};
    expect_rows(&ts_warp_tagged_study, subjects, ts_test_device ? cuda : cpu,
                4 * (ts_test_device ? 7 : 2));
}

/* ---- findings -------------------------------------------------------------------------------- */

/* Returns what the study finds in rows of these microseconds, of the largest of two images. */
static char *found_in(const struct study *study, const char *subject, const char *const methods[],
                      const double microseconds[])
{
    struct table_rows rows = {
        .table = &study->table, .stream = fopen("/dev/null", "w"), .json = true};
    struct ts_diag *diag = ts_diag_create();
    char *text = NULL;
    size_t length = 0;
    for (int64_t side = 256; side <= 512; side *= 2)
        for (int m = 0; methods[m]; m++) {
            struct study_row row = {
                .device = "CUDA", .x = side, .number = 7, .seconds = 1e-6 * microseconds[m]};
            snprintf(row.subject, sizeof row.subject, "%s", subject);
            snprintf(row.method, sizeof row.method, "%s", methods[m]);
            row.seconds = side == 512 ? row.seconds : 1;
            cr_assert_eq(ts_table_add(&rows, &row, diag), TS_OK);
        }
    FILE *stream = open_memstream(&text, &length);
    study->finding(&rows, stream);
    fclose(stream);
    fclose(rows.stream);
    ts_table_clear(&rows);
    ts_diag_destroy(diag);
    return text;
}

Test(histogram_study, findings_follow_from_the_rows)
{
    static const struct {
        const struct study *study;
        const char *subject, *methods[5];
        double microseconds[4];
        const char *found;
    } cases[] = {
        {&ts_histogram_ladder_study,
         "ct",
         {"V0", "V1", "V2, 1 row", "V2, 2 rows"},
         {90, 30, 10, 6},
         "at 512 x 512 on the CUDA device V1 is 3.00 times as fast as V0, and V2 with its best "
         "number of rows (V2, 2 rows) 5.0 times as fast as V1"},
        {&ts_histogram_memory_study,
         "kernel",
         {"global, plain", "shared, plain", "shared, managed", "shared, mapped"},
         {90, 30, 45, 60},
         "at 512 x 512 one table in global memory takes 3.0 times as long as tables of blocks; "
         "kernel: managed memory takes 1.50 and mapped memory 2.00 times as long as plain"},
        {&ts_warp_tagged_study,
         "ct",
         {"tagged", "tagged, lanes apart", "atomic"},
         {90, 30, 10},
         "ct: 7.0 tries for 32 pixels (7.0 with lanes apart), which take 9.0 (3.0) times as long "
         "as atomic adds"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text =
            found_in(cases[i].study, cases[i].subject, cases[i].methods, cases[i].microseconds);
        cr_assert_str_eq(text, cases[i].found);
        free(text);
    }
}

/* ---- tries ----------------------------------------------------------------------------------- */

/* 32 equal pixels take 32 tries, 32 different ones take one; apart, four tables share them out. */
Test(histogram_study, tries_are_those_of_the_commonest_value)
{
    enum { N = 4 * 32 * 8 + 3 };
    uint8_t constant[N] = {0}, rising[N];
    uint64_t counted;
    for (int i = 0; i < N; i++)
        rising[i] = (uint8_t)(i / 4 % 32); /* the words of a warp differ */
    cr_assert_eq(ts_gray_tries(constant, N - 3, GRAY_WARP_TAGGED, &counted), 32 * 32);
    cr_assert_eq(counted, 32);
    cr_assert_eq(ts_gray_tries(constant, N - 3, GRAY_WARP_APART, &counted), 32 * 8);
    cr_assert_eq(ts_gray_tries(rising, N - 3, GRAY_WARP_TAGGED, &counted), 32);
    cr_assert_eq(ts_gray_tries(constant, N, GRAY_WARP_TAGGED, &counted), 32 * 32 + 3);
    cr_assert_eq(counted, 33);
}

/* ---- kernels --------------------------------------------------------------------------------- */

#ifdef TS_HAVE_CUDA
enum { WIDTH = 1300, HEIGHT = 77, PIXELS = WIDTH * HEIGHT, MOST_TABLES = 4096 };

struct device_image {
    struct gray_device *device;
    uint8_t pixels[PIXELS];
    struct ts_diag *diag;
};

static struct device_image *open_image(void)
{
    struct device_image *image = calloc(1, sizeof *image);
    uint64_t state = 3;
    image->diag = ts_diag_create();
    image->device = ts_cuda_gray_create(ts_test_device, PIXELS, image->diag);
    ts_diag_print(image->diag, stderr);
    cr_assert(image->device);
    for (int i = 0; i < PIXELS; i++)
        image->pixels[i] = (uint8_t)(ts_random_next(&state) >> 58 << (i % WIDTH > 1024 ? 2 : 0));
    return image;
}

static void close_image(struct device_image *image)
{
    ts_cuda_gray_destroy(image->device);
    ts_diag_destroy(image->diag);
    free(image);
}

/* Runs the job on the image in each memory, and checks counts and gray image. */
static void expect_counts(struct device_image *image, struct gray_job job)
{
    static uint8_t gray[PIXELS];
    uint32_t counts[GRAY_VALUES], expected[GRAY_VALUES] = {0};
    double seconds;
    for (int i = 0; i < PIXELS; i++)
        expected[image->pixels[i]]++;
    for (int memory = GRAY_PLAIN; memory < GRAY_MEMORIES; memory++)
        for (int copies = 0; copies < 2; copies++) {
            job.copies = copies;
            cr_assert_eq(ts_cuda_gray_load(image->device, (enum gray_memory)memory, image->pixels,
                                           WIDTH, HEIGHT),
                         TS_OK);
            cr_assert_eq(ts_cuda_gray_run(image->device, &job, &seconds), TS_OK);
            cr_assert(seconds > 0);
            cr_assert_eq(
                ts_cuda_gray_read(image->device, counts, job.transform ? gray : NULL, NULL), TS_OK);
            cr_assert(!memcmp(counts, expected, sizeof counts), "kernel %d, memory %d", job.kernel,
                      memory);
            for (int i = 0; job.transform && i < PIXELS; i++) {
                double sum = 0;
                for (int value = 0; value <= image->pixels[i]; value++)
                    sum += expected[value];
                cr_assert_eq(gray[i], (int)(255 * sum / PIXELS + 0.5), "pixel %d", i);
            }
        }
}

/* A kernel leaves tables to be summed beside its result, and has threads, and shared memory for
 * tables of a block, of a lane or of warps. */
static const struct {
    struct gray_job job;
    int64_t threads, tables; /* tables -1: of as many blocks as the device holds */
    size_t shared_tables;
} shapes[] = {{{.kernel = GRAY_PIXEL_GLOBAL}, 1024, 0, 0},
              {{.kernel = GRAY_PIXEL_SHARED}, 1024, 0, 1},
              {{.kernel = GRAY_STRIP_GLOBAL}, 512, 3, 0},
              {{.kernel = GRAY_STRIP_SHARED}, 512, 3, 1},
              {{.kernel = GRAY_STRIP_ROWS, .rows = 1}, 512, 3 * 77, 1},
              {{.kernel = GRAY_STRIP_ROWS, .rows = 2}, 512, 3 * 39, 1},
              {{.kernel = GRAY_STRIP_ROWS, .rows = 4}, 512, 3 * 20, 1},
              {{.kernel = GRAY_STRIP_ROWS, .rows = 8}, 512, 3 * 10, 1},
              {{.kernel = GRAY_STRIP_ROWS, .rows = 16, .transform = true}, 512, 3 * 5, 1},
              {{.kernel = GRAY_WARP_ATOMIC}, 256, 0, 1},
              {{.kernel = GRAY_WARP_TAGGED}, 256, 0, 8},
              {{.kernel = GRAY_WARP_LANES}, 256, 0, 32},
              {{.kernel = GRAY_WARP_APART}, 256, 0, 32}};

Test(histogram_study, every_kernel_counts_in_its_own_way_on_cuda)
{
    ts_test_begin_cuda();
    struct device_image *image = open_image();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct gray_job *job = &shapes[i].job;
        struct gray_shape shape;
        expect_counts(image, *job);
        cr_assert_eq(ts_cuda_gray_describe(image->device, job, &shape), TS_OK);
        cr_assert_eq(shape.threads, shapes[i].threads, "kernel %zu: %lld threads", i,
                     (long long)shape.threads);
        cr_assert_eq(shape.tables, shapes[i].tables, "kernel %zu: %lld tables", i,
                     (long long)shape.tables);
        cr_assert_eq(shape.shared_bytes / (GRAY_VALUES * sizeof(uint32_t)), shapes[i].shared_tables,
                     "kernel %zu: %zu bytes", i, shape.shared_bytes);
    }
    close_image(image);
    ts_test_end_cuda();
}

/* V0 and V1 leave a table for every strip of columns, V2 one for every block, here of a strip of
 * `rows` rows. */
Test(histogram_study, tables_are_those_of_strips_on_cuda)
{
    ts_test_begin_cuda();
    struct device_image *image = open_image();
    static uint32_t tables[MOST_TABLES][GRAY_VALUES], expected[MOST_TABLES][GRAY_VALUES];
    for (int kernel = GRAY_STRIP_GLOBAL; kernel <= GRAY_STRIP_ROWS; kernel++) {
        const struct gray_job job = {.kernel = (enum gray_kernel)kernel, .rows = 8};
        struct gray_shape shape;
        double seconds;
        memset(expected, 0, sizeof expected);
        for (int i = 0; i < PIXELS; i++)
            expected[i % WIDTH / 512 + (kernel == GRAY_STRIP_ROWS ? i / WIDTH / 8 * 3 : 0)]
                    [image->pixels[i]]++;
        cr_assert_eq(ts_cuda_gray_load(image->device, GRAY_PLAIN, image->pixels, WIDTH, HEIGHT),
                     TS_OK);
        cr_assert_eq(ts_cuda_gray_run(image->device, &job, &seconds), TS_OK);
        cr_assert_eq(ts_cuda_gray_describe(image->device, &job, &shape), TS_OK);
        cr_assert_eq(ts_cuda_gray_tables(image->device, *tables, shape.tables), TS_OK);
        cr_assert(!memcmp(tables, expected, (size_t)shape.tables * sizeof *tables), "kernel %d",
                  kernel);
    }
    close_image(image);
    ts_test_end_cuda();
}

/* Only tagged counts try as often as the commonest value of a warp occurs. */
Test(histogram_study, kernels_try_as_often_as_expected_on_cuda)
{
    static const enum gray_kernel kernels[] = {GRAY_WARP_TAGGED, GRAY_WARP_APART};
    ts_test_begin_cuda();
    struct device_image *image = open_image();
    uint64_t found[2], counted;
    for (int n = PIXELS - 3 * WIDTH; n <= PIXELS; n += 3 * WIDTH)
        for (int i = 0; i < 2; i++) {
            const struct gray_job job = {.kernel = kernels[i], .counts_tries = true};
            uint32_t counts[GRAY_VALUES];
            double seconds;
            cr_assert_eq(
                ts_cuda_gray_load(image->device, GRAY_PLAIN, image->pixels, WIDTH, n / WIDTH),
                TS_OK);
            cr_assert_eq(ts_cuda_gray_run(image->device, &job, &seconds), TS_OK);
            cr_assert_eq(ts_cuda_gray_read(image->device, counts, NULL, &found[i]), TS_OK);
            cr_assert_eq(found[i], ts_gray_tries(image->pixels, n, kernels[i], &counted));
        }
    cr_assert_gt(found[0], found[1]);
    close_image(image);
    ts_test_end_cuda();
}
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The studies box-ladder, box-grain and neighborhood: every line is measured and agrees with the
 * oracle, is computed by the kernel of its name and no other, and the sentence on what was found
 * follows from the rows.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/session.h"
#include "lab/cuda/neighborhood_study.h"
#include "lab/study/box_study.h"
#include "stages/engine/border.h"
#include "tests/lab/study/study_text.h"
#include "tests/support/oracles.h"
#include "tests/support/stage_check.h"

TestSuite(box_studies);

static int count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* Expects so many rows of each method, all of them compared with the oracle. */
static void expect_rows(const struct study *study, const char *const methods[], const int rows[])
{
    struct study_request request = {.most = 1, .json = true, .compare = ts_oracle_compare};
    char *text = ts_test_study(study, request), member[80];
    int all = 0;
    for (int i = 0; methods[i]; i++) {
        snprintf(member, sizeof member, "\"method\": \"%s\"", methods[i]);
        cr_expect_eq(count(text, member), rows[i], "%s: %d rows", methods[i], count(text, member));
        all += rows[i];
    }
    cr_expect_eq(count(text, "\"method\""), all, "%s", text);
    cr_expect_eq(count(text, "\"error\": null"), 0, "%s", text);
    free(text);
}

enum { RADII = 9, OPERATORS = 14 };

TEST_ON_BOTH(box_studies, the_ladder_has_all_steps)
{
    static const char *const on_cpu[] = {"CPU loop", "unrolled",    "direct",
                                         "tile",     "running-sum", NULL};
    static const char *const on_cuda[] = {
        "one row a block", "rows, unrolled", "tile, unrolled", "unrolled", "tile", "fused", NULL};
    static const int cpu[] = {RADII, 1, RADII, RADII, RADII},
                     cuda[] = {RADII, RADII, RADII, 1, RADII, RADII};
    if (ts_test_device)
        expect_rows(&ts_box_ladder_study, on_cuda, cuda);
    else
        expect_rows(&ts_box_ladder_study, on_cpu, cpu);
}

TEST_ON_BOTH(box_studies, the_grains_have_all_reads)
{
    static const char *const on_cpu[] = {"a thread a pixel", "running-sum", NULL};
    static const char *const on_cuda[] = {"a thread a pixel",
                                          "a row, read plainly",
                                          "a row, by a shared tile",
                                          "a row, by textures",
                                          "fused",
                                          NULL};
    static const int rows[] = {3, 3, 3, 3, 3};
    expect_rows(&ts_box_grain_study, ts_test_device ? on_cuda : on_cpu, rows);
}

TEST_ON_BOTH(box_studies, the_neighborhood_has_all_operators)
{
    static const char *const on_cpu[] = {"convolve", NULL};
    static const char *const on_cuda[] = {"convolve", "plain loads", "shared tile", "texture",
                                          NULL};
    static const int rows[] = {OPERATORS, OPERATORS, OPERATORS, OPERATORS};
    expect_rows(&ts_neighborhood_study, ts_test_device ? on_cuda : on_cpu, rows);
}

/* ---- no line is another one ------------------------------------------------------------------ */

#ifdef TS_HAVE_CUDA
/* Measures a line of a study alone. */
static void expect_kernel(const struct box_line *line, int64_t radius, const char *kernel)
{
    const struct study_request request = {.runs = 1};
    struct study_run run = {.request = &request, .threads = 1, .diag = ts_diag_create()};
    run.rows = (struct table_rows){
        .table = &ts_box_ladder_study.table, .stream = fopen("/dev/null", "w"), .json = true};
    run.devices.device = ts_test_device;
    const struct study_row row = {.subject = "one"};
    cr_assert_eq(ts_box_study_line(&run, &row, line, 1, 64, radius), TS_OK);
    cr_assert_eq(run.rows.n, 1, "%s", line->name);
    cr_expect_str_eq(ts_cuda_last_launched(), kernel, "%s is %s", line->name,
                     ts_cuda_last_launched());
    fclose(run.rows.stream);
    ts_table_clear(&run.rows);
    ts_diag_destroy(run.diag);
}

/* Floats of 5 slices, whose sides are no multiples of a tile or a block. */
static void expect_way(const char *name, const char *parameters, const struct stage_cuda *cuda,
                       double error, const char *kernel)
{
    struct stage stage = *ts_stage_find(name);
    stage.cuda = cuda;
    stage.tolerance.relative = error;
    const struct stage_case which = {.assignments = parameters,
                                     .nz = 5,
                                     .ny = 67,
                                     .nx = 91,
                                     .dtypes = TS_DTYPE_BIT(TS_F32),
                                     .absolute = error * 3000};
    cr_assert_geq(ts_stage_check(&stage, ts_oracles_of(&stage).map, &which, 1), 1);
    cr_expect_str_eq(ts_cuda_last_launched(), kernel, "%s", parameters);
}
#endif

Test(box_studies, each_line_has_its_own_kernel_on_cuda)
{
    ts_test_begin_cuda();
#ifdef TS_HAVE_CUDA
    static const char *const kernels[][2] = {{"one row a block", "add_rows"},
                                             {"rows, unrolled", "add_rows unrolled"},
                                             {"tile, unrolled", "add_tile"},
                                             {"unrolled", "unrolled"},
                                             {"tile", "tiled"},
                                             {"a thread a pixel", "sum_along"},
                                             {"a row, read plainly", "run_plain_rows"},
                                             {"a row, by a shared tile", "box_run_columns"},
                                             {"a row, by textures", "run_texture_rows"}};
    const struct box_line *const lines[] = {ts_box_ladder_lines, ts_box_grain_lines};
    int found = 0;
    for (int study = 0; study < 2; study++)
        for (const struct box_line *line = lines[study]; line->name; line++)
            for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
                if (!strcmp(line->name, kernels[i][0]) && (line->cuda || line->way.cuda)) {
                    expect_kernel(line, 1, kernels[i][1]);
                    found++;
                }
    cr_expect_eq(found, 9);
#endif
    ts_test_end_cuda();
}

Test(box_studies, every_way_agrees_with_the_oracle_on_cuda)
{
    ts_test_begin_cuda();
#ifdef TS_HAVE_CUDA
    static const char *const borders[] = {"reflect", "mirror", "nearest", "wrap",
                                          "constant constant=7"};
    static const char *const kernels[] = {"add_rows", "add_rows unrolled", "add_tile",
                                          "run_plain_rows"};
    static const char *const neighbors[] = {"weigh_plain", "weigh_tile", "weigh_texture"};
    static const char *const operators[] = {"low-pass-4", "sobel-x", "log-5x5"};
    char parameters[100];
    for (size_t border = 0; border < sizeof borders / sizeof *borders; border++) {
        for (int way = 0; way < BOX_WAYS; way++)
            for (int radius = 1; radius <= 31; radius += 30) {
                snprintf(parameters, sizeof parameters, "radius=%d border=%s", radius,
                         borders[border]);
                expect_way("box", parameters, &ts_cuda_box_ways[way], BOX_WAY_ERROR, kernels[way]);
            }
        for (int way = 0; way < NEIGHBOR_WAYS; way++)
            for (int i = 0; i < 3; i++) {
                snprintf(parameters, sizeof parameters, "kernel=%s border=%s", operators[i],
                         borders[border]);
                expect_way("convolve", parameters, &ts_cuda_neighbor_ways[way], NEIGHBOR_WAY_ERROR,
                           neighbors[way]);
            }
    }
#endif
    ts_test_end_cuda();
}

/* The methods of the CPU differ in what they keep: rows of a window, an image between the passes,
 * the sums of a tile. A method that ran the code of another one would not find its memory. */
Test(box_studies, each_method_of_the_cpu_has_its_own_memory)
{
    static const char *const methods[] = {"direct", "unrolled", "separable", "tile", "running-sum"};
    enum { METHODS = sizeof methods / sizeof *methods, SIDE = 512 };
    size_t bytes[METHODS];
    for (int i = 0; i < METHODS; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct bench_case which = {.stage = ts_stage_find("box"),
                                   .dtype = TS_F32,
                                   .nz = 1,
                                   .ny = SIDE,
                                   .nx = SIDE,
                                   .values = BENCH_CT};
        struct bench_stage ready;
        snprintf(which.parameters, sizeof which.parameters, "radius=%d method=%s", i == 1 ? 1 : 9,
                 methods[i]);
        cr_assert_eq(ts_bench_prepare(&ready, &which, NULL, 1, NULL, diag), TS_OK);
        bytes[i] = which.stage->scratch_bytes(&ready.context, 1);
        for (int k = 0; k < i; k++)
            cr_expect_neq(bytes[i], bytes[k], "%s and %s", methods[i], methods[k]);
        ts_bench_stage_clear(&ready);
        ts_diag_destroy(diag);
    }
    cr_expect_geq(bytes[2], SIDE * SIDE * sizeof(double), "separable has an image of sums");
    cr_expect_lt(bytes[3], SIDE * SIDE * sizeof(double), "a tile has not");
    cr_expect_lt(bytes[0], (1 << 15), "direct has two rows");
}

/* ---- findings -------------------------------------------------------------------------------- */

struct made_row {
    const char *subject, *method;
    int64_t x;
    double seconds;
};

/* Returns what the study finds in n rows of a CUDA device. */
static char *finding_of(const struct study *study, const struct made_row *made, int n)
{
    struct study_row rows[32] = {0};
    char *text = NULL;
    size_t length = 0;
    for (int i = 0; i < n; i++) {
        rows[i] = (struct study_row){.device = "CUDA", .x = made[i].x, .seconds = made[i].seconds};
        snprintf(rows[i].subject, sizeof rows[i].subject, "%s", made[i].subject);
        snprintf(rows[i].method, sizeof rows[i].method, "%s", made[i].method);
    }
    const struct table_rows table = {.table = &study->table, .rows = rows, .n = n};
    FILE *stream = open_memstream(&text, &length);
    study->finding(&table, stream);
    fclose(stream);
    return text;
}

Test(box_studies, findings_follow_from_the_rows)
{
#define SIZE "2048 x 2048"
    static const struct made_row ladder[] = {{SIZE, "one row a block", 1, 3},
                                             {SIZE, "rows, unrolled", 1, 2},
                                             {SIZE, "tile, unrolled", 1, 3},
                                             {SIZE, "rows, unrolled", 7, 20},
                                             {SIZE, "tile, unrolled", 7, 15},
                                             {SIZE, "one row a block", 31, 100},
                                             {SIZE, "rows, unrolled", 31, 100},
                                             {SIZE, "tile, unrolled", 31, 50},
                                             {SIZE, "fused", 1, 1},
                                             {SIZE, "fused", 31, 2}};
    static const struct made_row grain[] = {{"radius 1", "a thread a pixel", 256, 1},
                                            {"radius 1", "a row, by a shared tile", 256, 4},
                                            {"radius 1", "a thread a pixel", 8192, 6},
                                            {"radius 1", "a row, by a shared tile", 8192, 3},
                                            {"radius 1", "a row, read plainly", 8192, 9},
                                            {"radius 1", "a row, by textures", 8192, 6},
                                            {"radius 1", "fused", 8192, 1}};
    static const struct made_row neighbors[] = {{"low-pass-8", "plain loads", 4096, 3},
                                                {"low-pass-8", "shared tile", 4096, 2},
                                                {"low-pass-8", "texture", 4096, 4},
                                                {"low-pass-8", "convolve", 4096, 1}};
    char *text = finding_of(&ts_box_ladder_study, ladder, sizeof ladder / sizeof *ladder);
    cr_expect_str_eq(text, SIZE
                     ": unrolling saves 33 % at 3 x 3 and saves 0 % at 63 x 63; shared memory then "
                     "costs 50 % at 3 x 3, saves 25 % at 15 x 15 and saves 50 % at 63 x 63; "
                     "`fused` is 3.0 times as fast as that tile at 3 x 3 and 25 times at 63 x 63");
    free(text);
    text = finding_of(&ts_box_grain_study, grain, sizeof grain / sizeof *grain);
    cr_expect_str_eq(text,
                     "radius 1, 8192 x 8192: a row a thread, by a shared tile, is 2.00 times as "
                     "fast as a pixel a thread; textures are 1.50 and shared tiles 3.00 times as "
                     "fast as plain reads; `fused` is 3 times as fast as the shared tile");
    free(text);
    text = finding_of(&ts_neighborhood_study, neighbors, 4);
    cr_expect_str_eq(text, "8 neighbors, 4096 x 4096: the shared tile is 1.50 times and the "
                           "texture 0.75 times as fast as plain loads, and the stage 3.0 times");
    free(text);
}

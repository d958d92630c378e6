/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs on a CUDA device against runs on the CPU: the same integers, the same bytes for every budget
 * of GPU memory, and errors that leave nothing. Without a device every test says that it was
 * skipped.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/session.h"
#include "pipeline/plan/plan.h"
#include "tests/files/hdf5_compare.h"
#include "tests/files/output_fixture.h"
#include "tests/support/local_stages.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/program.h"
#include "tests/support/stage_check.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

static char folder[256], on_cpu[300], on_cuda[300];

static void begin(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(on_cpu, sizeof on_cpu, "%s/cpu.h5", folder);
    snprintf(on_cuda, sizeof on_cuda, "%s/cuda.h5", folder);
}

static void end(void)
{
    ts_program_folder_remove(folder); /* the program's outputs beside it as well */
}

TestSuite(run_cuda, .init = begin, .fini = end);

static struct ts_plan *make_plan(struct memory_chain *memory, const char *device,
                                 const char *output)
{
    const struct ts_options options = {.device = device, .threads = 2, .force = true};
    memory->chain.output.path = output;
    struct ts_plan *plan = ts_test_plan(memory, &options);
    cr_assert(plan, "no plan for %s", device);
    return plan;
}

/* Runs with this budget, and takes no more; the whole file must be *first, which the first call
 * fills. */
static void run_with(struct ts_plan *plan, int64_t budget, unsigned char **first,
                     size_t *first_size)
{
    cr_assert(ts_test_plan_fits(plan, budget));
    cr_assert_leq(plan->gpu_bytes, budget);
    ts_cuda_most_held();
    ts_test_plan_run(plan);
    cr_assert_leq(ts_cuda_most_held(), (size_t)plan->n_devices * (size_t)plan->gpu_bytes);
    ts_test_same_file(on_cuda, first, first_size, "slabs");
}

/* Runs with GPU memory for all, for a slice, and for sizes between; slabs are pinned whole and by
 * slice in turn. */
static void run_on(struct memory_chain *memory, const char *device, int64_t steps,
                   unsigned char **first, size_t *first_size)
{
    struct ts_plan *plan = make_plan(memory, device, on_cuda);
    const int64_t most = plan->gpu_bytes, least = ts_test_plan_least(plan),
                  before = (int64_t)ts_cuda_launch_count();
    for (int64_t step = steps; step >= 0; step--) {
        plan->piece_bytes = step % 2 ? 1 : PLAN_PIECE_BYTES;
        run_with(plan, least + (most - least) * step / steps, first, first_size);
    }
    cr_assert_leq(plan->slab_slices, 2, "the least budget is for %lld slices",
                  (long long)plan->slab_slices);
    cr_assert_gt((int64_t)ts_cuda_launch_count(), before, "no kernel was launched");
    ts_plan_destroy(plan);
}

/* The chain on the CPU and on a CUDA device, and with the same bytes on several, which are the same
 * one. */
static void compare_devices(struct memory_chain *memory, double relative)
{
    struct ts_plan *plan = make_plan(memory, "cpu", on_cpu);
    unsigned char *first = NULL;
    size_t first_size = 0;
    ts_test_plan_run(plan);
    ts_plan_destroy(plan);
    run_on(memory, "cuda", ts_test_few() ? 1 : 4, &first, &first_size);
    cr_assert_gt(ts_test_compare_hdf5(on_cpu, on_cuda, relative), 0);
    for (int two = 0; two < 2; two++)
        run_on(memory, two ? "cuda:0,0" : "cuda:0,0,0", 1, &first, &first_size);
    free(first);
}

/* ---- the runner's own work ------------------------------------------------------------------- */

Test(run_cuda, halos_of_every_border)
{
    static const char *const borders[] = {"reflect", "mirror", "nearest", "constant", "wrap"};
    struct ts_image image = ts_test_image(13, 29, 31, TS_U16, VALUES_RANDOM, 1);
    ts_test_begin_cuda();
    for (size_t i = 0; i < sizeof borders / sizeof *borders; i++) {
        struct memory_chain memory;
        char parameters[64];
        memory_chain_init(&memory, &image, NULL, NULL);
        snprintf(parameters, sizeof parameters, "by=-3 constant=7 border=%s", borders[i]);
        memory_chain_add_stage(&memory, &shift_stage, parameters, NULL);
        memory_chain_add(&memory, "save", "once");
        snprintf(parameters, sizeof parameters, "by=2 constant=9 border=%s", borders[i]);
        memory_chain_add_stage(&memory, &shift_stage, parameters, NULL);
        compare_devices(&memory, 0);
        memory_chain_clear(&memory);
    }
    free(image.data);
}

/* A volume of fewer slices than the halo. */
Test(run_cuda, halos_wider_than_the_volume)
{
    static const char *const parameters[] = {"by=9 border=reflect", "by=-9 border=wrap",
                                             "by=5 border=constant constant=3"};
    struct ts_image image = ts_test_image(2, 5, 3, TS_F32, VALUES_CT, 2);
    ts_test_begin_cuda();
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        struct memory_chain memory;
        memory_chain_init(&memory, &image, NULL, NULL);
        memory_chain_add_stage(&memory, &shift_stage, parameters[i], NULL);
        compare_devices(&memory, 0);
        memory_chain_clear(&memory);
    }
    free(image.data);
}

/* Volumes one after the other, with reductions, tables and a kept image that each begins anew. */
Test(run_cuda, several_volumes)
{
    struct ts_image image = ts_test_image(21, 29, 31, TS_U16, VALUES_CT, 2);
    struct memory_chain memory;
    ts_test_begin_cuda();
    memory_chain_init(&memory, &image, NULL, NULL);
    memory.n_volumes = 3;
    memory_chain_add(&memory, "box radius=2 dimensions=3d border=wrap", NULL);
    memory_chain_add(&memory, "histogram scope=slice bins=11", NULL);
    memory_chain_add(&memory, "equalize", NULL);
    compare_devices(&memory, 0);
    memory_chain_clear(&memory);
    free(image.data);
}

static void check_masks(const struct ts_image *image, const struct ts_image *mask, bool moved)
{
    for (int slices = 0; slices < 2; slices++) {
        struct memory_chain memory;
        memory_chain_init(&memory, image, mask, NULL);
        if (moved)
            memory_chain_add_stage(&memory, &shift_stage, "by=2 border=wrap", NULL);
        memory_chain_add_stage(&memory, &masked_stage,
                               slices ? "mask=atlas slices=true" : "mask=atlas", NULL);
        compare_devices(&memory, 0);
        memory_chain_clear(&memory);
    }
}

Test(run_cuda, a_mask_streams_with_its_image)
{
    struct ts_image image = ts_test_image(11, 28, 27, TS_U16, VALUES_RANDOM, 3),
                    mask = ts_test_image(11, 28, 27, TS_U8, VALUES_EXTREME, 4);
    ts_test_begin_cuda();
    check_masks(&image, &mask, false);
    check_masks(&image, &mask, true);
    free(image.data);
    free(mask.data);
}

Test(run_cuda, a_reference_of_another_height_reaches_the_map)
{
    struct ts_image image = ts_test_image(13, 28, 27, TS_U16, VALUES_RANDOM, 5),
                    rows = ts_test_image(13, 5, 27, TS_U16, VALUES_RANDOM, 6);
    struct memory_chain memory;
    ts_test_begin_cuda();
    memory_chain_init(&memory, &image, &rows, NULL);
    memory_chain_add_stage(&memory, &shift_stage, "by=1 border=wrap", "moved");
    memory.stages[0].input_node = 1;
    memory_chain_add_stage(&memory, &add_rows_stage, "rows=moved by=-2", NULL);
    memory.stages[1].input_node = 0;
    memory_chain_add(&memory, "save", "added");
    memory_chain_add_stage(&memory, &add_rows_stage, "rows=atlas by=1", NULL);
    memory_chain_add(&memory, "equalize", NULL);
    compare_devices(&memory, 0);
    memory_chain_clear(&memory);
    free(image.data);
    free(rows.data);
}

/* ---- chains of the registry's stages --------------------------------------------------------- */

enum second {
    ALONE,
    ATLAS,
    MASK
}; /* a second source: another volume, or labels of the same shape */

static const struct {
    const char *stages[MEMORY_MAX]; /* "save NAME" keeps an image */
    enum ts_dtype dtype;
    enum second second;
    double relative; /* of floats: what the stages' tolerances make of each other */
} chains[] = {
    {{"invert"}, TS_I16, ALONE, 0},
    {{"save raw", "invert limits=data", "save turned"}, TS_U8, ALONE, 0},
    {{"invert limits=data", "save inverted", "invert limits=data scope=slice"}, TS_U16, ALONE, 0},
    {{"window low=-100 high=300 dtype=u8", "save seen", "invert limits=data"}, TS_I16, ALONE, 0},
    {{"box radius=2 dimensions=3d border=wrap", "save smooth",
      "box radius=1 dimensions=3d border=constant"},
     TS_U16,
     ALONE,
     1e-6},
    {{"statistics", "rescale method=z-score", "save scaled",
      "rescale method=percentiles scope=slice"},
     TS_I16,
     ALONE,
     1e-5},
    {{"histogram bins=64 reference=atlas", "equalize reference=atlas"}, TS_U16, ATLAS, 0},
    {{"box radius=1 dimensions=3d border=wrap", "histogram bins=64 labels=atlas n_labels=9"},
     TS_U16,
     MASK,
     1e-6},
    {{"histogram bins=256", "equalize", "save equalized", "clahe"}, TS_U16, ALONE, 0},
    {{"convolve kernel=gaussian-5x5", "invert limits=data", "radon views=7"}, TS_I16, ALONE, 1e-5},
    {{"box radius=2 dimensions=3d border=wrap", "statistics", "rescale method=z-score",
      "box radius=1 dimensions=3d border=reflect", "equalize", "save equalized",
      "rescale method=percentiles scope=slice", "radon views=7"},
     TS_I16,
     ALONE,
     1e-5},
};

/* False, said aloud, where a stage of the chain has no CUDA code. */
static bool add_stages(struct memory_chain *memory, const char *const *stages)
{
    for (size_t i = 0; i < MEMORY_MAX && stages[i]; i++) {
        if (!strncmp(stages[i], "save ", 5)) {
            memory_chain_add(memory, "save", stages[i] + 5);
            continue;
        }
        memory_chain_add(memory, stages[i], NULL);
        const struct stage *stage = memory->stages[memory->chain.n_stages - 1].stage;
        if (!stage->cuda) {
            fprintf(stderr, "SKIPPED a chain: %s has no CUDA code\n", stage->name);
            return false;
        }
    }
    return true;
}

Test(run_cuda, chains_give_the_same_on_both_devices)
{
    struct ts_image atlas = ts_test_image(5, 12, 6, TS_U16, VALUES_RANDOM, 8),
                    mask = ts_test_image(21, 34, 39, TS_U8, VALUES_RANDOM, 8);
    size_t compared = 0;
    ts_test_begin_cuda();
    for (size_t i = 0; i < ts_image_count(&mask); i++)
        ((uint8_t *)mask.data)[i] %= 11;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct ts_image image = ts_test_image(21, 34, 39, chains[i].dtype, VALUES_CT, 7);
        const enum second second = chains[i].second;
        struct memory_chain memory;
        memory_chain_init(&memory, &image,
                          second == ATLAS  ? &atlas
                          : second == MASK ? &mask
                                           : NULL,
                          NULL);
        if (add_stages(&memory, chains[i].stages)) {
            fprintf(stderr, "chain %zu\n", i);
            compare_devices(&memory, chains[i].relative);
            compared++;
        }
        memory_chain_clear(&memory);
        free(image.data);
    }
    cr_assert_gt(compared, 0);
    free(atlas.data);
    free(mask.data);
}

/* ---- real series, through the program -------------------------------------------------------- */

#define IBSI "ct/ibsi_sts001"
#define MR "1"
#define CT "2"
#define PET "3"
#define MAIN_CHAIN                                                                                 \
    "box radius=2 | histogram bins=256 | equalize | save name=equalized | radon views=45"
static const struct {
    const char *folder, *series; /* of the public test data */
    const char *stages;
    double relative;
} real_runs[] = {
    {IBSI, MR, MAIN_CHAIN, 1e-5},
    {IBSI, CT, MAIN_CHAIN, 1e-5},
    {IBSI, PET, MAIN_CHAIN, 1e-5},
    {"ct/philips_head_5mm_mixed", "6", MAIN_CHAIN, 1e-5},
    {IBSI, CT, "statistics | window center=40 width=400 dtype=u8 | clahe", 1e-6},
    {IBSI, MR,
     "statistics percentiles=5,50,95 | rescale method=percentiles scope=slice dtype=u16 | equalize",
     1e-6},
    {IBSI, PET,
     "box radius=1 dimensions=3d border=mirror | save name=smooth | histogram bins=100 | rescale",
     1e-6},
};

static struct program_outcome outcome;

/* The exit code. */
static int run_program(const char *chain, const char *series, const char *device,
                       const char *gpu_memory, const char *output)
{
    char set[64];
    snprintf(set, sizeof set, "input.series=%s", series);
    const char *const arguments[] = {
        "run",      chain,     "--set",    set,    "-o",
        output,     "--force", "--device", device, gpu_memory ? "--gpu-memory" : NULL,
        gpu_memory, NULL};
    ts_program_run(folder, arguments, &outcome);
    return outcome.code;
}

Test(run_cuda, real_series_give_the_same_on_both_devices)
{
    /* The first that is enough cuts the volume into the most slabs. */
    static const char *const budgets[] = {"1M",  "2M",  "4M",  "8M",  "12M", "16M",
                                          "24M", "32M", "48M", "64M", "96M"};
    SKIP_WITHOUT_DATA("run_cuda/real_series_give_the_same_on_both_devices");
    ts_test_begin_cuda();
    for (size_t i = 0; i < sizeof real_runs / sizeof *real_runs; i++) {
        unsigned char *bytes[2];
        size_t sizes[2], budget = 0;
        char chain[4096];
        snprintf(chain, sizeof chain, "dicom %s/%s | %s", ts_test_data(), real_runs[i].folder,
                 real_runs[i].stages);
        cr_assert_eq(run_program(chain, real_runs[i].series, "cpu", NULL, on_cpu), 0, "%s",
                     outcome.err);
        cr_assert_eq(run_program(chain, real_runs[i].series, "cuda", NULL, on_cuda), 0, "%s",
                     outcome.err);
        bytes[0] = ts_test_read_file(on_cuda, &sizes[0]);
        while (run_program(chain, real_runs[i].series, "cuda", budgets[budget], on_cuda) != 0)
            cr_assert(strstr(outcome.err, "of GPU memory, slice by slice") &&
                          ++budget < sizeof budgets / sizeof *budgets,
                      "%s: %s", chain, outcome.err);
        bytes[1] = ts_test_read_file(on_cuda, &sizes[1]);
        cr_assert(sizes[0] == sizes[1] && !memcmp(bytes[0], bytes[1], sizes[0]),
                  "%s: %s shows in the bytes", chain, budgets[budget]);
        cr_assert_gt(ts_test_compare_hdf5(on_cpu, on_cuda, real_runs[i].relative), 0);
        free(bytes[0]);
        free(bytes[1]);
    }
}

/* The result records its device, and the command `check` prints that of the plan. */
Test(run_cuda, the_device_is_recorded)
{
    static const char *const names[] = {"cuda_device", "cuda_compute_capability", "cuda_code",
                                        "cuda_driver", "cuda_runtime"};
    struct ts_image image = ts_test_image(3, 8, 7, TS_U16, VALUES_RANDOM, 13);
    struct memory_chain memory;
    char *text = NULL;
    size_t length;
    ts_test_begin_cuda();
    memory_chain_init(&memory, &image, NULL, NULL);
    memory_chain_add_stage(&memory, &shift_stage, "by=1", NULL);
    struct ts_plan *plan = make_plan(&memory, "auto", on_cuda);
    cr_assert_str_eq(plan->device, "cuda:0");
    FILE *stream = open_memstream(&text, &length);
    ts_plan_print(plan, stream, false);
    fclose(stream);
    cr_assert(strstr(text, "\nupload       input") && strstr(text, "\ndownload     shift"), "%s",
              text);
    cr_assert(strstr(text, plan->cuda->name), "%s", text);
    ts_test_plan_run(plan);
    const hid_t file = H5Fopen(on_cuda, H5F_ACC_RDONLY, H5P_DEFAULT),
                group = H5Gopen2(file, "/entry/provenance", 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_assert(H5Lexists(group, names[i], H5P_DEFAULT) > 0, "no %s", names[i]);
    H5Gclose(group);
    H5Fclose(file);
    free(text);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
}

/* The second run of a process forks its decoders while CUDA is running. */
Test(run_cuda, a_process_may_run_twice)
{
    const struct ts_options options = {.device = "cuda", .threads = 2, .force = true};
    char text[600];
    unsigned char *bytes[2];
    size_t sizes[2];
    ts_test_begin_cuda();
    ts_program_run(folder,
                   (const char *const[]){"phantom", "disc", "-o", "study", "--size", "64", NULL},
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    snprintf(text, sizeof text, "dicom %s/study | invert limits=data | hdf5 %s", folder, on_cuda);
    for (int i = 0; i < 2; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct ts_chain *chain;
        struct ts_plan *plan = NULL;
        cr_assert_eq(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag), TS_OK);
        enum ts_status status = ts_plan_create(chain, &options, &plan, diag);
        if (status == TS_OK)
            status = ts_plan_run(plan, diag);
        if (status != TS_OK)
            ts_diag_print(diag, stderr);
        cr_assert_eq(status, TS_OK);
        bytes[i] = ts_test_read_file(on_cuda, &sizes[i]);
        ts_plan_destroy(plan);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
    cr_assert(sizes[0] == sizes[1] && !memcmp(bytes[0], bytes[1], sizes[0]));
    free(bytes[0]);
    free(bytes[1]);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void expect_failure(struct ts_plan *plan, struct memory_chain *memory,
                           enum ts_status expected, const char *code)
{
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(ts_plan_run(plan, diag), expected);
    cr_assert(ts_test_has_code(diag, code), "not %s but %s", code, ts_diag_get(diag, 0)->code);
    cr_assert_eq(ts_test_count_files(folder, NULL), 0, "a failed run left a file");
    ts_diag_destroy(diag);
    ts_plan_destroy(plan);
    memory_chain_clear(memory);
}

Test(run_cuda, too_little_memory_is_found_before_a_pixel_is_read)
{
    struct ts_image image = ts_test_image(4, 8, 7, TS_U16, VALUES_RANDOM, 9);
    struct memory_chain memory;
    ts_test_begin_cuda();
    memory_chain_init(&memory, &image, NULL, NULL);
    memory_chain_add_stage(&memory, &shift_stage, "by=1", NULL);
    struct ts_plan *plan = make_plan(&memory, "cuda", on_cuda);
    plan->nodes[1].buffer_slices = (int64_t)1 << 40;
    expect_failure(plan, &memory, TS_RUN_FAILED, "cuda-memory");
    cr_assert_eq(memory.slices_read, 0);
    free(image.data);
}

Test(run_cuda, a_lost_device_leaves_nothing)
{
    struct ts_image image = ts_test_image(4, 8, 7, TS_U16, VALUES_RANDOM, 10);
    struct memory_chain memory;
    ts_test_begin_cuda();
    memory_chain_init(&memory, &image, NULL, NULL);
    memory_chain_add_stage(&memory, &lost_stage, "", NULL);
    expect_failure(make_plan(&memory, "cuda", on_cuda), &memory, TS_RUN_FAILED, "cuda-lost");
    free(image.data);
}

#ifdef TS_HAVE_CUDA
/* Not as memory that ran out. */
Test(run_cuda, memory_of_a_lost_device_is_told_as_a_loss)
{
    struct ts_image image = ts_test_image(4, 8, 7, TS_U16, VALUES_RANDOM, 10);
    struct ts_diag *diag = ts_diag_create();
    struct cuda_session *session;
    struct stage_run run;
    ts_test_begin_cuda();
    cr_assert_eq(ts_cuda_session_create(ts_test_device, 0, diag, &session), TS_OK);
    cr_assert(ts_cuda_allocate(session, 1 << 20));
    cr_assert_eq(ts_test_run(&run, &lost_stage, "", &image, NULL, 0, 1), TS_RUN_FAILED);
    cr_assert_null(ts_cuda_allocate(session, 1 << 20));
    cr_assert(ts_test_has_code(diag, "cuda-lost"));
    cr_assert_null(ts_cuda_allocate_pinned(session, 1 << 20));
    cr_assert_not(ts_test_has_code(diag, "cuda-memory"));
    ts_cuda_session_destroy(session);
    ts_test_run_clear(&run);
    ts_diag_destroy(diag);
    free(image.data);
}
#endif

Test(run_cuda, a_source_that_fails_and_a_stop_leave_nothing)
{
    struct ts_image image = ts_test_image(9, 8, 7, TS_U16, VALUES_RANDOM, 11);
    struct memory_chain memory;
    ts_test_begin_cuda();
    memory_chain_init(&memory, &image, NULL, NULL);
    memory_chain_add_stage(&memory, &shift_stage, "by=1", NULL);
    memory.fail_at = 5;
    struct ts_plan *plan = make_plan(&memory, "cuda", on_cuda);
    cr_assert(ts_test_plan_fits(plan, ts_test_plan_least(plan)));
    expect_failure(plan, &memory, TS_BAD_INPUT, "test");
    memory_chain_init(&memory, &image, NULL, NULL);
    memory_chain_add_stage(&memory, &shift_stage, "by=1", NULL);
    plan = make_plan(&memory, "cuda", on_cuda);
    cr_assert(ts_test_plan_fits(plan, ts_test_plan_least(plan)));
    memory.stop_at_plan = plan;
    memory.stop_slice = 4;
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(ts_plan_run(plan, diag), TS_STOPPED);
    cr_assert_eq(ts_test_count_files(folder, NULL), 0, "a stopped run left a file");
    ts_diag_destroy(diag);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
}

Test(run_cuda, devices_that_are_hidden_or_not_there)
{
    struct ts_diag *diag = ts_diag_create();
    struct ts_image image = ts_test_image(2, 3, 4, TS_U16, VALUES_RANDOM, 12);
    struct memory_chain memory;
    struct ts_options options = {.device = "cuda:99", .threads = 1};
    struct ts_plan *plan;
    ts_test_begin_cuda();
    memory_chain_init(&memory, &image, NULL, on_cuda);
    memory_chain_add_stage(&memory, &shift_stage, "by=1", NULL);
    cr_assert_eq(ts_plan_create(&memory.chain, &options, &plan, diag), TS_BAD_CHAIN);
    cr_assert(ts_test_has_code(diag, "cuda-index"));
    ts_diag_clear(diag);
    ts_diag_destroy(diag);
    setenv("CUDA_VISIBLE_DEVICES", "",
           1); /* for the program: here the driver has read it already */
    ts_program_run(folder,
                   (const char *const[]){"check", "dicom none | invert | hdf5 out.h5", "--json",
                                         "--device", "cuda", NULL},
                   &outcome);
    cr_assert(strstr(outcome.out, "\"code\": \"cuda-no-device\""), "%s", outcome.out);
    memory_chain_clear(&memory);
    free(image.data);
}

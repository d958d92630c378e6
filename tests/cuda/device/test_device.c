/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan chooses its device, on machines without one: a driver of the tests' own
 * (tests/support/fake_driver.c) stands before the real one.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/device/device.h"
#include "pipeline/plan/device_choice.h"
#include "tests/files/output_fixture.h"
#include "tests/support/local_stages.h"
#include "tests/support/memory_chain.h"
#include "tests/support/program.h"
#include "tests/support/rates_file.h"
#include "tests/support/skip.h"
#include "tests/support/stage_check.h"

static struct program_outcome outcome;
static char folder[256];

#define CHAIN "dicom study | window low=0 high=100 dtype=u16 | hdf5 out.h5"

static void make_folder(void)
{
    ts_test_folder(folder, sizeof folder);
    ts_program_run(folder,
                   ARGUMENTS("phantom", "disc", "-o", "study", "--size", "32", "--slices", "9"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
}

static void remove_folder(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(device, .init = make_folder, .fini = remove_folder);

/* Skips where this build has no CUDA side, or the stand-in is not there. */
static void use_driver(const char *mode)
{
    const char *before = getenv("LD_LIBRARY_PATH");
    char path[4096];
    if (!ts_cuda_built()) {
        fprintf(stderr, "SKIPPED: this build has no CUDA code\n");
        cr_skip_test("no CUDA code");
    }
    snprintf(path, sizeof path, "%s/libcuda.so.1", FAKE_DRIVER_FOLDER);
    if (access(path, R_OK) != 0) {
        fprintf(stderr, "SKIPPED: %s is not there\n", path);
        cr_skip_test("no stand-in for the driver");
    }
    snprintf(path, sizeof path, "%s%s%s", FAKE_DRIVER_FOLDER, before ? ":" : "",
             before ? before : "");
    setenv("LD_LIBRARY_PATH", path, 1);
    setenv("FAKE_DRIVER", mode, 1);
}

static void check(const char *device, const char *gpu_memory)
{
    ts_program_run(folder,
                   ARGUMENTS("check", CHAIN, "--json", "--device", device,
                             gpu_memory ? "--gpu-memory" : NULL, gpu_memory),
                   &outcome);
}

static void expect(const char *text)
{
    cr_assert(strstr(outcome.out, text), "'%s' is not in: %s", text, outcome.out);
}

static const struct {
    const char *driver, *device, *gpu_memory;
    int code;
    const char *error, *message;
} refusals[] = {
    {"crash", "cuda", NULL, 1, "cuda-crashed",
     "crashed while it listed its devices: signal 11 (SEGV)"},
    {"exit", "cuda", NULL, 1, "cuda-crashed", "ended the process in which it listed its devices"},
    {"refuse", "cuda", NULL, 1, "cuda-failed", "to start (cuInit) with error 999"},
    {"forked", "cuda", NULL, 1, "cuda-forked",
     "this process was forked from one that had started CUDA"},
    {"old", "cuda", NULL, 1, "cuda-old-driver", "the CUDA driver is for CUDA 11.4, and 1"},
    {"none", "cuda", NULL, 1, "cuda-no-device", "sees no device"},
    {"two", "cuda:2", NULL, 2, "cuda-index", "there is no CUDA device 2: the driver shows 2"},
    {"two", "cuda:0,2", NULL, 2, "cuda-index", "there is no CUDA device 2: the driver shows 2"},
    {"two", "cuda:0,1", NULL, 2, "devices-differ",
     "device 0 (test device 0) and device 1 (test device 1) are of"},
    {"two", "cuda:all", NULL, 2, "devices-differ",
     "device 0 (test device 0) and device 1 (test device 1) are of"},
    {"volta", "cuda:0", NULL, 1, "cuda-capability",
     "device 0 (test device 0) has compute capability 7.0"},
    {"two", "cuda", "17G", 2, "gpu-memory",
     "17408.0 MiB of GPU memory is more than the 16384.0 MiB of device 0"},
    {"two", "cuda", "4K", 2, "gpu-memory-budget", "slice by slice; the budget is 0.0 MiB"},
};

Test(device, each_failure_has_its_own_error)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char code[64];
        use_driver(refusals[i].driver);
        check(refusals[i].device, refusals[i].gpu_memory);
        snprintf(code, sizeof code, "\"code\": \"%s\"", refusals[i].error);
        cr_assert_eq(outcome.code, refusals[i].code, "%s: %d, %s", refusals[i].error, outcome.code,
                     outcome.out);
        expect(code);
        expect(refusals[i].message);
        expect("\"hint\": ");
        cr_assert_null(strstr(outcome.out, "\"event\": \"plan\""));
    }
}

/* A device that is named several times shares its memory, and the slabs are dealt out. */
Test(device, several_share_the_slices)
{
    use_driver("two");
    check("cuda:1,1,1", "3G");
    cr_assert_eq(outcome.code, 0, "%s", outcome.out);
    expect("\"device\": \"cuda:1,1,1\"");
    expect("\"gpu_budget_bytes\": 1073741824");
    int64_t dealt = 0, slices;
    int n = 0;
    for (const char *at = outcome.out; (at = strstr(at, "\"device\": \"cuda:1\", \"slices\": "));
         at++, n++) {
        cr_assert_eq(sscanf(at, "\"device\": \"cuda:1\", \"slices\": %" SCNd64, &slices), 1);
        dealt += slices;
    }
    cr_assert_eq(n, 3, "%s", outcome.out);
    cr_assert_eq(dealt, 9, "%s", outcome.out);
}

/* Machine code of 7.5 and 9.0 runs on neither 8.0 nor 8.6; the next device may do. */
Test(device, one_that_no_code_of_the_build_runs_on_is_refused)
{
    const int code = ts_cuda_code_here(86);
    use_driver("ampere");
    check("cuda:0", NULL);
    if (code > 0) {
        cr_assert_eq(outcome.code, 0, "%s", outcome.out);
        return;
    }
    cr_assert_eq(outcome.code, 1, "%s", outcome.out);
    if (ts_cuda_capability_needed() <= 86) {
        expect("\"code\": \"cuda-no-code\"");
        expect("device 0 (test device 0) has compute capability 8.6, and this build has machine "
               "code for ");
    } else {
        expect("\"code\": \"cuda-capability\"");
    }
    check("auto", NULL);
    expect("\"device\": \"cuda:1\"");
}

/* The plan's table, the run, its events and its result name the device, and why `auto` did not take
 * another. */
static void expect_everywhere(const char *device, const char *why)
{
    char note[256], text[256];
    snprintf(note, sizeof note, "%s%s%s", *why ? " (" : "", why, *why ? ")" : "");
    ts_program_run(folder, ARGUMENTS("check", CHAIN, "--device", device), &outcome);
    snprintf(text, sizeof text, "\ndevice cpu%s\n", note);
    expect(text);
    ts_program_run(folder, ARGUMENTS("run", CHAIN, "--device", device, "--force"), &outcome);
    snprintf(text, sizeof text, " s on cpu%s\n", note);
    expect(text);
    ts_program_run(folder, ARGUMENTS("info", "out.h5"), &outcome);
    snprintf(text, sizeof text, "= %s\n", why);
    cr_assert_eq(strstr(outcome.out, "/entry/provenance/device_note") && strstr(outcome.out, text),
                 *why != '\0', "%s", outcome.out);
    ts_program_run(folder, ARGUMENTS("run", CHAIN, "--device", device, "--force", "--json"),
                   &outcome);
    snprintf(text, sizeof text, "\"started\", \"device\": \"cpu\", \"%s%s\"",
             *why ? "device_note\": \"" : "pass", why);
    expect(text);
}

Test(device, no_driver_is_an_error_where_one_was_asked_for)
{
    if (ts_cuda_driver_present() || !ts_cuda_built()) {
        fprintf(stderr, "SKIPPED: needs a build with CUDA on a machine without its driver\n");
        cr_skip_test("a driver is there");
    }
    check("cuda", NULL);
    cr_assert_eq(outcome.code, 1);
    expect("\"code\": \"cuda-no-driver\"");
    check("auto", NULL);
    cr_assert_eq(outcome.code, 0);
    expect("\"device\": \"cpu\", \"device_note\": \"no CUDA driver is installed\"");
    expect_everywhere("auto", "no CUDA driver is installed");
    expect_everywhere("cpu", "");
}

Test(device, a_build_without_cuda_says_so)
{
    if (ts_cuda_built())
        ts_test_skip("this build has the CUDA side");
    check("cuda", NULL);
    cr_assert_eq(outcome.code, 2);
    expect("\"code\": \"cuda-not-built\"");
    expect_everywhere("auto", "this build has no CUDA code");
    expect_everywhere("cpu", "");
}

Test(device, auto_takes_the_first_usable_one)
{
    use_driver("two");
    check("auto", NULL);
    cr_assert_eq(outcome.code, 0, "%s", outcome.out);
    expect("\"device\": \"cuda:0\", \"device_name\": \"test device 0\", \"compute_capability\": "
           "\"9.0\"");
    expect("\"upload_bytes\": 18432");
    expect("\"download_bytes\": 18432");
    check("cuda:1", NULL);
    expect("\"device\": \"cuda:1\"");
    check("cpu", NULL);
    expect("\"device\": \"cpu\"");
    cr_assert_null(strstr(outcome.out, "device_note"));
    use_driver("volta");
    check("cuda", NULL);
    expect("\"device\": \"cuda:1\"");
}

/* The reason is reported that keeps `auto` from a device which seems to be there. */
Test(device, auto_says_why_it_takes_the_cpu)
{
    use_driver("crash");
    check("auto", NULL);
    cr_assert_eq(outcome.code, 0, "%s", outcome.out);
    expect("\"severity\": \"note\", \"code\": \"device-auto\"");
    expect("\"device_note\": \"the CUDA driver crashed");
    use_driver("none");
    check("auto", NULL);
    cr_assert_eq(outcome.code, 0, "%s", outcome.out);
    cr_assert_null(strstr(outcome.out, "device-auto"));
}

/* `run` starts the driver in its own process, and starts anew where that crashes. */
Test(device, a_driver_that_crashes_ends_no_run)
{
    use_driver("crash");
    ts_program_run(folder, ARGUMENTS("run", CHAIN, "--device", "cuda"), &outcome);
    cr_assert_eq(outcome.code, 1, "%s", outcome.err);
    cr_assert(strstr(outcome.err, "crashed while it listed its devices: signal 11 (SEGV)"), "%s",
              outcome.err);
    ts_program_run(folder, ARGUMENTS("run", CHAIN), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    expect(" s on cpu (the CUDA driver crashed");
}

/* `auto` makes no error of a chain that does not fit the device's memory or the budget for it. */
Test(device, auto_takes_the_cpu_where_the_plan_does_not_fit)
{
    const char *const chain = "dicom study | radon views=3 | hdf5 out.h5";
    use_driver("two");
    check("auto", "4K");
    cr_assert_eq(outcome.code, 0, "%s", outcome.out);
    expect("\"severity\": \"note\", \"code\": \"device-auto\"");
    expect("the chain runs on the CPU: the chain needs at least");
    expect("\"device\": \"cpu\", \"device_note\": \"the chain needs at least");
    cr_assert_null(strstr(outcome.out, "gpu-memory-budget"));
    /* Parameters are resolved anew, for the CPU. */
    ts_program_run(folder, ARGUMENTS("check", chain, "--json", "--device", "cpu"), &outcome);
    char *plan = strdup(strstr(outcome.out, "\"stages\": "));
    *strstr(plan, "\"passes\": ") = '\0';
    ts_program_run(folder, ARGUMENTS("check", chain, "--json", "--gpu-memory", "4K"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.out);
    expect(plan);
    free(plan);
    use_driver("tiny");
    check("auto", NULL);
    cr_assert_eq(outcome.code, 0, "%s", outcome.out);
    expect("\"device\": \"cpu\", \"device_note\": \"the chain needs at least");
}

/* The device's errors are reported where the CPU cannot run the chain either. */
Test(device, what_runs_nowhere_is_told_of_the_device)
{
    const char *const chain = "dicom study | radon views=3 method=stack | hdf5 out.h5";
    use_driver("two");
    ts_program_run(folder, ARGUMENTS("check", chain, "--json", "--gpu-memory", "4K"), &outcome);
    cr_assert_eq(outcome.code, 2, "%s", outcome.out);
    expect("\"code\": \"gpu-memory-budget\"");
    cr_assert_null(strstr(outcome.out, "choice-device"));
}

/* A method that only the CPU has. */
Test(device, a_method_of_the_cpu_keeps_auto_there)
{
    const char *const chain = "dicom study | radon views=3 method=joseph | hdf5 out.h5";
    use_driver("two");
    ts_program_run(folder, ARGUMENTS("check", chain, "--json"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.out);
    expect("\"device_note\": \"'joseph' of radon runs there alone\"");
    expect("the chain runs on the CPU: 'joseph' of radon runs there alone");
    ts_program_run(folder, ARGUMENTS("check", chain, "--json", "--device", "cuda"), &outcome);
    cr_assert_eq(outcome.code, 2);
    expect("\"code\": \"choice-device\"");
}

Test(device, a_chain_that_computes_nothing_takes_the_cpu)
{
    use_driver("two");
    ts_program_run(folder,
                   ARGUMENTS("check", "dicom study | save name=copy | hdf5 out.h5", "--json"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.out);
    expect("\"device_note\": \"no stage computes anything\"");
}

Test(device, a_stage_without_cuda_code_is_named)
{
    struct ts_image image = ts_test_image(2, 3, 4, TS_U16, VALUES_RANDOM, 1);
    struct ts_diag *diag = ts_diag_create();
    struct ts_options options = {.device = "cuda", .threads = 1};
    struct memory_chain memory;
    struct ts_plan *plan;
    use_driver("two");
    cr_assert(dlopen(FAKE_DRIVER_FOLDER "/libcuda.so.1",
                     RTLD_NOW)); /* from now on it is this process's libcuda */
    memory_chain_init(&memory, &image, NULL, "out.h5");
    memory_chain_add_stage(&memory, &cpu_shift_stage, "by=1", NULL);
    cr_assert_eq(ts_plan_create(&memory.chain, &options, &plan, diag), TS_BAD_CHAIN);
    cr_assert(ts_test_has_code(diag, "stage-device"));
    cr_assert_str_eq(ts_diag_get(diag, 0)->stage, "cpu_shift");
    cr_assert_str_eq(ts_diag_get(diag, 0)->message,
                     "has no CUDA code: its kernel is not written yet");
    ts_diag_clear(diag);
    options.device = "auto";
    cr_assert_eq(ts_plan_create(&memory.chain, &options, &plan, diag), TS_OK);
    cr_assert(ts_test_has_code(diag, "device-auto"));
    cr_assert_str_eq(plan->device, "cpu");
    cr_assert_str_eq(plan->device_note,
                     "cpu_shift has no CUDA code: its kernel is not written yet");
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    ts_diag_destroy(diag);
    free(image.data);
}

/* The number after "name": in the plan. */
static long number_of(const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *found = strstr(outcome.out, key);
    cr_assert(found, "no %s in: %s", name, outcome.out);
    return atol(found + strlen(key));
}

static bool fits(long bytes)
{
    char budget[32];
    snprintf(budget, sizeof budget, "%ld", bytes);
    check("cuda", budget);
    return outcome.code == 0;
}

/* The budget decides the slabs; what the plan says it takes is within it. */
Test(device, the_budget_of_gpu_memory_is_kept)
{
    long least = 1, most = 1 << 22, slices_before = 0;
    use_driver("two");
    for (long high = most; least < high;) {
        const long middle = least + (high - least) / 2;
        if (fits(middle))
            high = middle;
        else
            least = middle + 1;
    }
    for (int step = 0; step <= 4; step++) {
        const long budget = least + (most - least) * step / 4;
        cr_assert(fits(budget), "%ld: %s", budget, outcome.out);
        cr_assert_leq(number_of("gpu_memory_bytes"), budget);
        cr_assert_geq(number_of("slab_slices"), slices_before);
        slices_before = number_of("slab_slices");
        cr_assert(step > 0 || slices_before == 1);
    }
    cr_assert_eq(slices_before, 9);
}

/* A device that is listed and then cannot be used ends the run before anything is written. */
Test(device, a_device_that_does_not_start_leaves_nothing)
{
    use_driver("two");
    ts_program_run(folder, ARGUMENTS("run", CHAIN, "--json", "--device", "cuda"), &outcome);
    cr_assert_eq(outcome.code, 1, "%s", outcome.out);
    expect("\"code\": \"cuda-");
    cr_assert_null(strstr(outcome.out, "\"event\": \"started\""));
    char names[256];
    ts_program_folder_list(folder, names, sizeof names);
    cr_assert_str_eq(names, "study ");
}

/* A benchmark and a study refuse the devices that a plan refuses, with the same words and exit
 * codes. */
Test(device, a_benchmark_takes_what_a_plan_takes)
{
    static const struct {
        const char *driver, *device;
        int code;
        const char *message;
    } rows[] = {
        {"volta", "cuda:0", 1, "error: device 0 (test device 0) has compute capability 7.0"},
        {"two", "cuda:9", 2,
         "error: there is no CUDA device 9: the driver shows 2 [cuda-index]\n  hint: cuda:0 is the "
         "first"},
        {"none", "cuda", 1, "sees no device"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int study = 0; study < 2; study++) {
            use_driver(rows[i].driver);
            if (study)
                ts_program_run(
                    folder,
                    ARGUMENTS("study", "fan-in", "--most", "64", "--device", rows[i].device),
                    &outcome);
            else
                ts_program_run(folder,
                               ARGUMENTS("bench", "box", "--size", "1x8x8", "--runs", "1",
                                         "--device", rows[i].device),
                               &outcome);
            cr_expect_eq(outcome.code, rows[i].code, "%s: %d, %s", rows[i].device, outcome.code,
                         outcome.err);
            cr_expect(strstr(outcome.err, rows[i].message), "%s: %s", rows[i].device, outcome.err);
            cr_expect(strstr(outcome.err, "\n  hint: "), "%s: %s", rows[i].device, outcome.err);
            cr_expect_str_empty(outcome.out);
        }
}

Test(device, a_choice_is_the_first_that_can_be_used)
{
    struct cuda_devices found;
    struct ts_diag *diag = ts_diag_create();
    int index;
    use_driver("volta");
    cr_assert(dlopen(FAKE_DRIVER_FOLDER "/libcuda.so.1",
                     RTLD_NOW)); /* from now on it is this process's libcuda */
    cr_assert_eq(ts_device_choice_find(-1, &found, &index, diag), TS_OK);
    cr_assert_eq(index, 1);
    cr_assert_eq(ts_device_choice_find(0, &found, &index, diag), TS_RUN_FAILED);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "cuda-capability");
    ts_diag_destroy(diag);
}

/* With kept rates `auto` compares the predictions: the start of the device decides for a small
 * volume. */
Test(device, auto_takes_the_device_that_is_predicted_to_be_done_first)
{
    struct rates rates = ts_test_rates();
    char path[300];
    use_driver("two");
    snprintf(path, sizeof path, "%s/rates.json", folder);
    rates.values[RATE_CUDA_START] = 1e6;
    ts_test_keep_rates(&rates, path);
    check("auto", NULL);
    expect("\"device\": \"cpu\", \"device_note\": \"predicted to be done first\", "
           "\"device_times\": \"");
    expect(" on cuda:0, of which 1000000.00 s start it\"");
    expect("\"prediction\": {\"seconds\": ");
    rates.values[RATE_CUDA_START] = 0;
    ts_test_keep_rates(&rates, path);
    check("auto", NULL);
    expect("\"device\": \"cuda:0\", \"device_times\": \"predicted to be done first: ");
    expect(" s on cpu\"");
    cr_assert_null(strstr(outcome.out, "device_note"));
}

/* Rates of another device say nothing about this one. */
Test(device, auto_keeps_to_the_device_where_its_rates_are_not_known)
{
    struct rates rates = ts_test_rates();
    char path[300];
    use_driver("two");
    snprintf(path, sizeof path, "%s/rates.json", folder);
    snprintf(rates.device, sizeof rates.device, "another device");
    rates.values[RATE_CUDA_START] = 1e6;
    ts_test_keep_rates(&rates, path);
    check("auto", NULL);
    expect("\"device\": \"cuda:0\", \"device_name\"");
    expect("\"no_prediction\": \"the kept rates are of the device another device, and this one is "
           "test device 0\"");
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Every example chain, beside a phantom study and a phantom atlas, as a user would run it.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/tomostage.h"
#include "datasets/phantom.h"
#include "tests/support/dicom_fixture.h"
#include "tests/support/support.h"

enum { N_CHAINS = 8 };

static void print_to(char *out, size_t size, const struct ts_diag *diag)
{
    FILE *stream = fmemopen(out, size, "w");
    ts_diag_print(diag, stream);
    fclose(stream);
}

static void write_phantom(const char *folder, const char *name, const char *phantom)
{
    const struct phantom_options options = {
        .nx = 41, .ny = 33, .nz = 5, .spacing_x_mm = 2, .spacing_y_mm = 2.5, .spacing_z_mm = 4, .noise_hu = 10};
    char path[400];
    struct ts_diag *diag = ts_diag_create();
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert_eq(ts_phantom_write(phantom, &options, path, diag), TS_OK);
    ts_diag_destroy(diag);
}

static void copy_chain(const char *folder, const char *name)
{
    char from[512], to[512], text[4096];
    snprintf(from, sizeof from, "%s/%s", ts_test_path("../datasets/chains"), name);
    snprintf(to, sizeof to, "%s/%s", folder, name);
    FILE *file = fopen(from, "rb");
    cr_assert_not_null(file, "%s", from);
    const size_t length = fread(text, 1, sizeof text, file);
    cr_assert_lt(length, sizeof text);
    fclose(file);
    ts_fixture_write_bytes(to, text, length);
}

/* Leaves the name of the output that the chain wrote: its own with another ending. */
static void run_chain(const char *folder, const char *name)
{
    char path[512], messages[4096] = "";
    struct ts_diag *diag = ts_diag_create();
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct stat output;
    copy_chain(folder, name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    enum ts_status status = ts_chain_load(path, &chain, diag);
    if (status == TS_OK)
        status = ts_plan_create(chain, &options, &plan, diag);
    if (status == TS_OK)
        status = ts_plan_run(plan, diag);
    print_to(messages, sizeof messages, diag);
    cr_assert_eq(status, TS_OK, "%s: %s", name, messages);
    snprintf(path + strlen(path) - strlen("yaml"), 8, "h5");
    cr_assert_eq(stat(path, &output), 0, "%s", path);
    cr_assert_gt(output.st_size, 1000);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

Test(chains, examples_run, .timeout = 120)
{
    char folder[256], chains[256];
    int n_chains = 0;
    ts_test_folder_in_memory(folder, sizeof folder);
    write_phantom(folder, "study", "head");
    write_phantom(folder, "atlas", "shepp-logan");
    snprintf(chains, sizeof chains, "%s", ts_test_path("../datasets/chains"));
    DIR *directory = opendir(chains);
    cr_assert_not_null(directory);
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (strstr(entry->d_name, ".yaml") == NULL)
            continue;
        run_chain(folder, entry->d_name);
        n_chains++;
    }
    closedir(directory);
    cr_assert_eq(n_chains, N_CHAINS);
    ts_test_remove_folder(folder);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/support.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of this program, with its last slash; "" where it is unknown. */
static const char *own_folder(void)
{
    static char folder[512];
    const ssize_t length = *folder ? 0 : readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length > 0) {
        folder[length] = '\0';
        strrchr(folder, '/')[1] = '\0';
    }
    return folder;
}

const char *ts_test_path(const char *relative)
{
    static char texts[16][PATH_MAX + 512], bundled[PATH_MAX];
    static unsigned calls;
    char beside[640], *text = texts[calls++ % 16];
    const char *root = getenv("TESTS_FOLDER");
    snprintf(beside, sizeof beside, "%s../share/tomostage/tests", own_folder());
    if (!root)
        root = realpath(beside, bundled) ? bundled : TESTS_FOLDER;
    snprintf(text, sizeof texts[0], "%s%s%s", root, *relative ? "/" : "", relative);
    return text;
}

const char *ts_test_program(void)
{
    static char beside[640];
    const char *program = getenv("TOMOSTAGE_PROGRAM");
    snprintf(beside, sizeof beside, "%stomostage", own_folder());
    return program ? program : access(beside, X_OK) ? TOMOSTAGE_PROGRAM : beside;
}

const char *ts_test_data(void)
{
    const char *folder = getenv("TOMOSTAGE_DATA");
    return folder && *folder ? folder : NULL;
}

uint64_t ts_random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

double ts_random_unit(uint64_t *state)
{
    return (double)(ts_random_next(state) >> 11) * 0x1p-53;
}

void ts_test_no_children(void)
{
    char path[64], text[256] = "";
    int n = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s cannot be read", path);
    if (fgets(text, sizeof text, file))
        for (const char *at = strtok(text, " "); at; at = strtok(NULL, " "))
            n++;
    fclose(file);
    cr_assert_leq(n, 1, "children are left beside the fork server: %s", text);
}

void ts_test_store(void *data, enum ts_dtype dtype, size_t i, double value)
{
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    value = value < low ? low : value > high ? high : value;
    switch (dtype) {
#define STORE(suffix, type)                                                                        \
    case TS_##suffix:                                                                              \
        ((type *)data)[i] = (type)value;                                                           \
        break;
        TS_IMAGE_DTYPES(STORE)
        STORE(U64, uint64_t)
        STORE(F64, double)
#undef STORE
    case TS_F16:
        cr_assert_fail("halves stand in files alone");
    }
}

const struct ts_diag_record *ts_test_record(const struct ts_diag *diag, const char *code)
{
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        if (!strcmp(ts_diag_get(diag, i)->code, code))
            return ts_diag_get(diag, i);
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/files/npy.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/support.h"

void ts_test_npy(const char *name, void *values, size_t bytes)
{
    char path[4096];
    unsigned char head[10];
    snprintf(path, sizeof path, "%s/reference/tomopy_tests/%s", ts_test_data(), name);
    FILE *file = fopen(path, "rb");
    cr_assert(file, "%s", path);
    cr_assert_eq(fread(head, 1, sizeof head, file), sizeof head);
    cr_assert_eq(fseek(file, head[8] + 256 * head[9], SEEK_CUR), 0);
    cr_assert_eq(fread(values, 1, bytes, file), bytes, "%s", path);
    cr_assert_eq(fgetc(file), EOF, "%s holds more", path);
    fclose(file);
}

void ts_test_npy_write(const char *path, const char *dictionary, const void *values, size_t bytes)
{
    const size_t length = strlen(dictionary) + 1;
    const unsigned char head[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)length, (unsigned char)(length >> 8)};
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(head, 1, sizeof head, file) == sizeof head);
    cr_assert(fprintf(file, "%s\n", dictionary) == (int)length &&
              fwrite(values, 1, bytes, file) == bytes);
    cr_assert_eq(fclose(file), 0);
}

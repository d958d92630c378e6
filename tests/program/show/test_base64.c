/* SPDX-License-Identifier: Apache-2.0
 *
 * Base64 is held against the examples of RFC 4648, section 10.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "program/show/base64.h"

TestSuite(base64);

Test(base64, is_that_of_the_standard)
{
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char out[32] = "";
        FILE *stream = fmemopen(out, sizeof out, "w");
        ts_base64_write(stream, pairs[i][0], strlen(pairs[i][0]));
        fclose(stream);
        cr_expect_str_eq(out, pairs[i][1]);
    }
}

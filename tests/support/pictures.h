/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests show this to the eye: PNG files in the folder that the environment variable
 * TOMOSTAGE_PICTURES names, or in pictures/ beside the test program.
 */
#ifndef TESTS_SUPPORT_PICTURES_H
#define TESTS_SUPPORT_PICTURES_H

#include <stddef.h>

/* Writes NAME.png, low black and high white; nothing where the folder cannot be made, as in an
 * installed bundle. */
void ts_test_picture(const char *name, const double *values, size_t width, size_t height,
                     double low, double high);

#endif

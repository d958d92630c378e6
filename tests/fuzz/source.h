/* SPDX-License-Identifier: Apache-2.0
 *
 * The harnesses of formats that open as a source share this.
 */
#ifndef TESTS_FUZZ_SOURCE_H
#define TESTS_FUZZ_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "io/source/source.h"

/* Opens the source of these parameters and reads its first slices, unless they are large. */
void fuzz_source(const struct source_format *format, const struct param_set *set,
                 struct ts_diag *diag);
/* Opens a file of this name that holds the input under test, with the format's defaults, and reads
 * its first slices. */
void fuzz_volume(const struct source_format *format, const char *name, const uint8_t *data,
                 size_t bytes);

#endif

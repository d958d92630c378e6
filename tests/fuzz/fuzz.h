/* SPDX-License-Identifier: Apache-2.0
 *
 * The fuzz harnesses share this: a file in memory-backed storage that holds the input under test.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FUZZ_INPUT_MAX = 1 << 20, FUZZ_IMAGE_MAX = 16 << 20, FUZZ_PATH = 256 };

/* libFuzzer calls it for every input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* The folder of this process, which is removed when it ends. */
const char *fuzz_folder(void);
/* Writes the input to a file of that name in the folder, in place of the one before it. */
void fuzz_write(const char *name, const uint8_t *data, size_t bytes, char path[FUZZ_PATH]);
/* Returns a stream for what a function prints and nobody reads. */
FILE *fuzz_nowhere(void);

#endif

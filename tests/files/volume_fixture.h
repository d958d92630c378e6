/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of bytes, and inputs that are opened as a chain opens them.
 */
#ifndef TESTS_FILES_VOLUME_FIXTURE_H
#define TESTS_FILES_VOLUME_FIXTURE_H

#include "io/source/source.h"

/* Writes a file, or a gzip file of one member. */
void ts_volume_write(const char *path, const void *data, size_t bytes, bool gzip);
/* Opens `input: {FORMAT: PATH}`; the source is NULL where that is refused. */
enum ts_status ts_volume_chain_open(const char *format, const char *path, struct source **source,
                                    struct ts_diag *diag);
/* Fails the test where opening is refused. */
struct source *ts_volume_opened(const char *format, const char *path);
/* Fails the test unless opening, or reading the first slice, is refused with this code. */
void ts_volume_refused(const char *format, const char *path, const char *code);
/* Writes values of i16, of which (x, y, z) is 100 z + 10 y + x. */
enum { VOLUME_NX = 5, VOLUME_NY = 4, VOLUME_NZ = 3 };
enum { VOLUME_BYTES = VOLUME_NX * VOLUME_NY * VOLUME_NZ * 2 };
void ts_volume_fill(unsigned char values[VOLUME_BYTES]);
/* Fails the test unless the source has those values, 0.7 x 0.8 x 2 mm apart and upright from (-10,
 * -20, -30) on, and closes it. */
void ts_volume_check_place(struct source *source);
/* Fails the test unless value (x, y, z) of the whole image is 100 z + 10 y' + x, y' counted from
 * the last row where `flipped`. */
void ts_volume_check(struct source *source, bool flipped);

#endif

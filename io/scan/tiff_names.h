/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of TIFF files in a folder: their order, and whether they are of one kind, so that they differ only in
 * numbers.
 */
#ifndef IO_SCAN_TIFF_NAMES_H
#define IO_SCAN_TIFF_NAMES_H

#include "io/scan/tiff_file.h"

/* Returns the length of the number that begins at `at` in the name: of its sign, digits and fraction; 0: none does. */
size_t ts_tiff_number(const char *name, const char *at);
/* Orders names by their text and the numbers in it. Returns <0, 0 or >0. */
int ts_tiff_compare_names(const char *a, const char *b);
/* Refuses a folder whose files are of several kinds, such as projections and flats (tiff-names), unless the pattern
 * says that all of them are meant. A kind is what is left of a name without its numbers and its suffix. Names without
 * numbers are no kinds where most names are so. */
enum ts_status ts_tiff_check_names(const struct tiff_pages *pages, const char *folder, const char *pattern,
                                   struct ts_diag *diag);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of TIFF files in a folder: their order, and whether they are of one kind, so that they
 * differ only in numbers.
 */
#ifndef IO_SCAN_TIFF_NAMES_H
#define IO_SCAN_TIFF_NAMES_H

#include "io/scan/tiff_file.h"

enum { TIFF_MOST_NUMBERS = 24 };

/* The numbers of a name. */
struct tiff_numbers {
    const char *at[TIFF_MOST_NUMBERS];
    size_t length[TIFF_MOST_NUMBERS];
    int n;
};

/* The numbers of a name that are a date with the time of day, n of them; n = 0: there is none. */
struct tiff_stamp {
    int first, n;
};

/* Returns the length of the number that begins at `at` in the name: of its sign, digits and
 * fraction; 0: none does. decimals: a point between two groups of digits begins a fraction, and e
 * with a sign an exponent. */
size_t ts_tiff_number(const char *name, const char *at, bool decimals);
struct tiff_numbers ts_tiff_find_numbers(const char *name, bool decimals);
/* Finds a date with the time of day, whose parts restart: 2024-01-31T10_59_30, 20240131_105930 or
 * 20240131105930. */
struct tiff_stamp ts_tiff_find_stamp(const struct tiff_numbers *numbers);
/* Returns true if two names differ only in numbers, and perhaps in their suffixes. */
bool ts_tiff_same_text(const char *a, const char *b, bool decimals, bool any_suffix);
/* Compares the numbers of these lengths. Returns <0, 0 or >0. */
int ts_tiff_compare_numbers(const char *a, size_t n_a, const char *b, size_t n_b);
/* Orders names by their text and the numbers in it. Returns <0, 0 or >0. */
int ts_tiff_compare_names(const char *a, const char *b, bool decimals);
/* Returns true if the pattern says that all files of a folder are meant: * or *.tif. */
bool ts_tiff_takes_all(const char *pattern);
/* Refuses a folder whose files are of several kinds, such as projections and flats (tiff-names),
 * unless the pattern says that all of them are meant. A kind is what is left of a name without its
 * numbers and its suffix. Names without numbers are no kinds if most names are so. A warning says
 * where files of several kinds are taken (tiff-order); they are refused if their names may be read
 * in several orders: hexadecimal numbers, capitals beside small letters, or a minus before some
 * numbers. */
enum ts_status ts_tiff_check_names(const struct tiff_pages *pages, const char *folder,
                                   const char *pattern, struct ts_diag *diag);

#endif

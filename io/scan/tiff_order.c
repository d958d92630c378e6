/* SPDX-License-Identifier: Apache-2.0
 *
 * 1.5 and 1.10 are decimal numbers, or two counters each. Names say which where some numbers have no fraction, an
 * exponent, fractions of several lengths that begin with 0, or even steps; a longer fraction that ends in 0 is a
 * counter.
 */
#include "io/scan/tiff_order.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "io/scan/tiff_names.h"

enum { MOST_NUMBERS = 24, PATTERN_BYTES = 600 };
static const double EVEN = 1e-6; /* in steps */

/* ---- points between digits ----------------------------------------------------------------------- */

static int compare_counted(const void *a, const void *b)
{
    return ts_tiff_compare_names(((const struct tiff_file *)a)->path, ((const struct tiff_file *)b)->path, false);
}

static int compare_decimals(const void *a, const void *b)
{
    return ts_tiff_compare_names(((const struct tiff_file *)a)->path, ((const struct tiff_file *)b)->path, true);
}

/* What the numbers with a point in the names of files have in common. */
struct fractions {
    int64_t least, most;      /* such numbers in a name */
    size_t shortest, longest; /* digits behind the point */
    size_t longest_zero;      /* of those that end in 0 */
    bool leading_zero, exponent;
};

/* Adds the numbers of a name that are longer as decimal ones. Returns the last of them, or NULL. */
static const char *add_fractions(const char *name, struct fractions *all)
{
    const char *last = NULL;
    int64_t n = 0;
    for (const char *at = name; *at;) {
        const size_t counted = ts_tiff_number(name, at, false), length = ts_tiff_number(name, at, true);
        if (length > counted) {
            const char *point = memchr(at, '.', length);
            const size_t digits = point ? strspn(point + 1, "0123456789") : 0;
            last = at;
            n++;
            all->shortest = digits < all->shortest ? digits : all->shortest;
            all->longest = digits > all->longest ? digits : all->longest;
            if (digits > 0 && point[digits] == '0' && digits > all->longest_zero)
                all->longest_zero = digits;
            all->leading_zero |= digits > 1 && point[1] == '0';
            all->exponent |= memchr(at, 'e', length) || memchr(at, 'E', length);
        }
        at += length > 0 ? length : 1;
    }
    all->least = n < all->least ? n : all->least;
    all->most = n > all->most ? n : all->most;
    return last;
}

/* Returns true where the last decimal numbers of the sorted names have even steps. */
static bool are_even(const struct tiff_file *files, int64_t n)
{
    double before = NAN, step = NAN;
    for (int64_t i = 0; i < n; i++) {
        struct fractions unused = {0};
        const char *at = add_fractions(ts_base_name(files[i].path), &unused);
        const double value = at ? strtod(at, NULL) : NAN;
        if (i == 1)
            step = value - before;
        if (i > 0 && !(step > 0 && fabs(value - before - step) <= EVEN * step))
            return false;
        before = value;
    }
    return n > 2;
}

enum ts_status ts_tiff_sort(struct tiff_pages *pages, int64_t first, const char *folder, struct ts_diag *diag)
{
    const int64_t n = pages->n_files - first;
    if (n < 2)
        return TS_OK;
    struct tiff_file *files = pages->files + first;
    struct fractions all = {.least = INT64_MAX, .shortest = SIZE_MAX};
    bool same = true;
    qsort(files, (size_t)n, sizeof *files, compare_counted);
    for (int64_t i = 0; i < n; i++)
        add_fractions(ts_base_name(files[i].path), &all);
    if (all.most == 0)
        return TS_OK;
    struct tiff_file *decimals = ts_arena_copy(pages->arena, files, (size_t)n, sizeof *files);
    if (!decimals)
        return ts_diag_no_memory(diag, (size_t)n * sizeof *files);
    qsort(decimals, (size_t)n, sizeof *files, compare_decimals);
    for (int64_t i = 0; i < n; i++)
        same &= decimals[i].path == files[i].path;
    const bool differ = all.shortest != all.longest, counts = differ && all.longest_zero > all.shortest,
               measures =
                   all.exponent || all.least != all.most || (differ && all.leading_zero) || are_even(decimals, n);
    if (!same && counts == measures) {
        ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-order"),
                      "%s: the numbers in names such as %s are decimal numbers or two counters each, and the order of "
                      "the files depends on that",
                      folder, ts_base_name(files[n - 1].path));
        return ts_diag_hint(diag, TIFF_ORDER_HINT);
    }
    pages->decimals = same ? !counts : measures;
    if (pages->decimals)
        memcpy(files, decimals, (size_t)n * sizeof *files);
    return TS_OK;
}

/* ---- numbers that run ---------------------------------------------------------------------------- */

/* The numbers of a name. */
struct numbers {
    const char *at[MOST_NUMBERS];
    size_t length[MOST_NUMBERS];
    int n;
};

static struct numbers find_numbers(const char *name, bool decimals)
{
    struct numbers found = {.n = 0};
    for (const char *at = name; *at && found.n < MOST_NUMBERS;) {
        const size_t length = ts_tiff_number(name, at, decimals);
        if (length > 0) {
            found.at[found.n] = at;
            found.length[found.n++] = length;
        }
        at += length > 0 ? length : 1;
    }
    return found;
}

static int compare_at(const struct numbers *a, const struct numbers *b, int column)
{
    return ts_tiff_compare_numbers(a->at[column], a->length[column], b->at[column], b->length[column]);
}

static bool same_before(const struct numbers *a, const struct numbers *b, int column)
{
    for (int i = 0; i < column; i++)
        if (compare_at(a, b, i) != 0)
            return false;
    return true;
}

/* Returns behind which of the numbers a date with the time of day ends, whose parts restart: 2024-01-31T10_59_30 or
 * 20240131_105930, perhaps with a fraction of the second; 0: there is none. */
static int end_of_stamp(const struct numbers *numbers)
{
    static const size_t forms[][7] = {{4, 2, 2, 2, 2, 2}, {8, 6}, {8, 2, 2, 2}, {4, 2, 2, 6}};
    for (int from = 0; from < numbers->n; from++)
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            int k = 0;
            while (forms[f][k] > 0 && from + k < numbers->n && numbers->length[from + k] == forms[f][k])
                k++;
            const bool year = !strncmp(numbers->at[from], "19", 2) || !strncmp(numbers->at[from], "20", 2);
            if (forms[f][k] == 0 && year)
                return from + k + 1;
        }
    return 0;
}

/* Writes a pattern of the name with a * in place of each number from this one on. */
static void write_pattern(const char *name, const struct numbers *numbers, int column, char pattern[PATTERN_BYTES])
{
    size_t used = 0;
    for (const char *at = name; *at && used + 8 < PATTERN_BYTES;) {
        while (column < numbers->n && numbers->at[column] < at)
            column++;
        const bool number = column < numbers->n && numbers->at[column] == at;
        used += number ? (size_t)snprintf(pattern + used, PATTERN_BYTES - used, "*")
                       : (size_t)snprintf(pattern + used, PATTERN_BYTES - used, "%s%c",
                                          strchr("*?[\\", *at) ? "\\" : "", *at);
        at += number ? numbers->length[column] : 1;
    }
}

static enum ts_status refuse_running(const struct tiff_pages *pages, const char *folder, int64_t file, int column,
                                     struct ts_diag *diag)
{
    const char *first = ts_base_name(pages->files[0].path), *last = ts_base_name(pages->files[file].path),
               *next = ts_base_name(pages->files[file + 1].path);
    const struct numbers numbers = find_numbers(first, pages->decimals);
    char pattern[PATTERN_BYTES] = "", text[PATTERN_BYTES];
    int64_t alike = 0, fit = 0;
    write_pattern(first, &numbers, column, pattern);
    for (int64_t i = 0; i < pages->n_files; i++) {
        const char *name = ts_base_name(pages->files[i].path);
        const struct numbers other = find_numbers(name, pages->decimals);
        alike += same_before(&numbers, &other, column);
        fit += fnmatch(pattern, name, FNM_PERIOD) == 0;
    }
    ts_text_escape(text, sizeof text, pattern);
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-names"),
                  "%s holds files with two running numbers, as several scans have: %s is followed by %s", folder, last,
                  next);
    if (alike == fit)
        return ts_diag_hint(diag,
                            "pattern: \"%s\" takes the files of one; pattern: \"*\" takes all of them in the order of "
                            "their numbers from left to right",
                            text);
    return ts_diag_hint(diag, "pattern: \"*\" takes all of them in the order of their numbers from left to right");
}

enum ts_status ts_tiff_check_running(const struct tiff_pages *pages, const char *folder, struct ts_diag *diag)
{
    bool runs[MOST_NUMBERS] = {false};
    int64_t restart[MOST_NUMBERS] = {0}; /* the file before, counted from 1; 0: none */
    struct numbers before = {.n = 0};
    int n = 0, stamp = 0;
    for (int64_t i = 0; i < pages->n_files; i++) {
        const struct numbers here = find_numbers(ts_base_name(pages->files[i].path), pages->decimals);
        if (i > 0 && here.n != before.n)
            return TS_OK; /* not of one kind */
        n = here.n;
        stamp = end_of_stamp(&here);
        for (int c = stamp; c < n && i > 0; c++) {
            const int order = compare_at(&before, &here, c);
            if (same_before(&before, &here, c))
                runs[c] |= order < 0;
            else if (order >= 0 && restart[c] == 0)
                restart[c] = i;
        }
        before = here;
    }
    for (int c = 0; c < n; c++)
        if (runs[c] && restart[c] > 0)
            return refuse_running(pages, folder, restart[c] - 1, c, diag);
    return TS_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * 1.5 and 1.10 are decimal numbers, or two counters each. Names say which if some numbers have no
 * fraction, an exponent, fractions of several lengths that begin with 0, or even steps; a longer
 * fraction that ends in 0 is a counter.
 */
#include "io/scan/tiff_order.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "io/scan/tiff_gaps.h"
#include "io/scan/tiff_names.h"

enum { PATTERN_BYTES = 600 };
static const double EVEN = 1e-6; /* in steps */

/* ---- points between digits ------------------------------------------------------------------- */

static int compare_counted(const void *a, const void *b)
{
    return ts_tiff_compare_names(((const struct tiff_file *)a)->path,
                                 ((const struct tiff_file *)b)->path, false);
}

static int compare_decimals(const void *a, const void *b)
{
    return ts_tiff_compare_names(((const struct tiff_file *)a)->path,
                                 ((const struct tiff_file *)b)->path, true);
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
        const size_t counted = ts_tiff_number(name, at, false),
                     length = ts_tiff_number(name, at, true);
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

/* Returns true if the last decimal numbers of the sorted names have even steps. */
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

enum ts_status ts_tiff_sort(struct tiff_pages *pages, int64_t first, const char *folder,
                            struct ts_diag *diag)
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
    const bool differ = all.shortest != all.longest,
               counts = differ && all.longest_zero > all.shortest,
               measures = all.exponent || all.least != all.most || (differ && all.leading_zero) ||
                          are_even(decimals, n);
    if (!same && counts == measures) {
        ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-order"),
                      "%s: the numbers in names such as %s are decimal numbers or two counters "
                      "each, and the order of the files depends on that",
                      folder, ts_base_name(files[n - 1].path));
        return ts_diag_hint(diag, TIFF_ORDER_HINT);
    }
    pages->decimals = same ? !counts : measures;
    if (pages->decimals)
        memcpy(files, decimals, (size_t)n * sizeof *files);
    return TS_OK;
}

/* ---- numbers that run ------------------------------------------------------------------------ */

static int compare_at(const struct tiff_numbers *a, const struct tiff_numbers *b, int column)
{
    return ts_tiff_compare_numbers(a->at[column], a->length[column], b->at[column],
                                   b->length[column]);
}

static bool same_before(const struct tiff_numbers *a, const struct tiff_numbers *b, int column)
{
    for (int i = 0; i < column; i++)
        if (compare_at(a, b, i) != 0)
            return false;
    return true;
}

/* Writes a pattern of the name with a * in place of each number whose bit in `any` is set, or a ?
 * for each of its characters. */
static void write_pattern(const char *name, bool decimals, uint32_t any, char wildcard,
                          char pattern[PATTERN_BYTES])
{
    const struct tiff_numbers numbers = ts_tiff_find_numbers(name, decimals);
    size_t used = 0;
    int column = 0;
    for (const char *at = name; *at && used + 8 < PATTERN_BYTES;) {
        while (column < numbers.n && (numbers.at[column] < at || !(any >> column & 1)))
            column++;
        const bool number = column < numbers.n && numbers.at[column] == at;
        const size_t length = number ? numbers.length[column] : 1;
        if (!number && strchr("*?[\\", *at))
            pattern[used++] = '\\';
        for (size_t k = 0; k < (number && wildcard == '?' ? length : 1) && used + 8 < PATTERN_BYTES;
             k++)
            pattern[used++] = number ? wildcard : *at;
        at += length;
    }
    pattern[used] = '\0';
}

/* Writes a pattern of the first name, whose other numbers are kept. Returns how many names fit it,
 * or 0 if some of them have other numbers in the place of those that are kept. */
static int64_t count_fitting(const struct tiff_pages *pages, uint32_t any,
                             char pattern[PATTERN_BYTES])
{
    const char *first = ts_base_name(pages->files[0].path);
    const struct tiff_numbers numbers = ts_tiff_find_numbers(first, pages->decimals);
    int64_t alike = 0, fit = 0;
    write_pattern(first, pages->decimals, any, '*', pattern);
    for (int64_t i = 0; i < pages->n_files; i++) {
        const char *name = ts_base_name(pages->files[i].path);
        const struct tiff_numbers other = ts_tiff_find_numbers(name, pages->decimals);
        bool same = true;
        for (int c = 0; c < numbers.n; c++)
            same &= any >> c & 1 || compare_at(&numbers, &other, c) == 0;
        alike += same;
        fit += fnmatch(pattern, name, FNM_PERIOD) == 0;
    }
    return alike == fit ? fit : 0;
}

/* Refuses names in which the number `column` restarts after a file. The files of one scan either
   differ in this number and those behind it, or in the others: the hint names the pattern of more
   files first. */
static enum ts_status refuse_running(const struct tiff_pages *pages, const char *folder,
                                     int64_t file, int column, struct ts_diag *diag)
{
    const uint32_t any[2] = {UINT32_MAX << column, ~(UINT32_C(1) << column)};
    char patterns[2][PATTERN_BYTES] = {"", ""}, texts[2][PATTERN_BYTES];
    int64_t counts[2];
    for (int k = 0; k < 2; k++) {
        counts[k] = count_fitting(pages, any[k], patterns[k]);
        ts_text_escape(texts[k], sizeof texts[k], patterns[k]);
    }
    const int more = counts[1] > counts[0];
    ts_diag_error(
        diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-names"),
        "%s holds files with two running numbers, as several scans have: %s is followed by %s",
        folder, ts_base_name(pages->files[file].path), ts_base_name(pages->files[file + 1].path));
    if (counts[!more] > 1)
        return ts_diag_hint(diag,
                            "pattern: \"%s\" takes the files of one scan if it has %lld, pattern: "
                            "\"%s\" if it has %lld; pattern: \"*\" takes all of them in the order "
                            "of their numbers from left to right",
                            texts[more], (long long)counts[more], texts[!more],
                            (long long)counts[!more]);
    if (counts[more] > 1)
        return ts_diag_hint(diag,
                            "pattern: \"%s\" takes the files of one; pattern: \"*\" takes all of "
                            "them in the order of their numbers from left to right",
                            texts[more]);
    return ts_diag_hint(
        diag, "pattern: \"*\" takes all of them in the order of their numbers from left to right");
}

/* ---- numbers that are there twice ------------------------------------------------------------ */

static bool have_same_numbers(const struct tiff_file *a, const struct tiff_file *b, bool decimals)
{
    const char *name_a = ts_base_name(a->path), *name_b = ts_base_name(b->path);
    const struct tiff_numbers of_a = ts_tiff_find_numbers(name_a, decimals),
                              of_b = ts_tiff_find_numbers(name_b, decimals);
    return of_a.n > 0 && of_a.n == of_b.n && same_before(&of_a, &of_b, of_a.n) &&
           ts_tiff_same_text(name_a, name_b, decimals, true);
}

/* Returns the first file whose numbers equal those of the next one; -1: there is none. */
static int64_t find_twin(const struct tiff_pages *pages)
{
    for (int64_t i = 0; i + 1 < pages->n_files; i++)
        if (have_same_numbers(&pages->files[i], &pages->files[i + 1], pages->decimals))
            return i;
    return -1;
}

/* Sets *parted if a pattern divides the files into two sets without twins, and the one that fits it
   has no gap. */
static enum ts_status part_twins(const struct tiff_pages *pages, const char *pattern, bool *parted,
                                 struct ts_diag *diag)
{
    const size_t bytes = (size_t)pages->n_files * sizeof *pages->files;
    struct tiff_pages fitting = *pages, others = *pages;
    struct tiff_gap gap;
    fitting.files = ts_arena_alloc(pages->arena, bytes);
    others.files = ts_arena_alloc(pages->arena, bytes);
    if (!fitting.files || !others.files)
        return ts_diag_no_memory(diag, bytes);
    fitting.n_files = others.n_files = 0;
    for (int64_t i = 0; i < pages->n_files; i++) {
        struct tiff_pages *of =
            fnmatch(pattern, ts_base_name(pages->files[i].path), FNM_PERIOD) == 0 ? &fitting
                                                                                  : &others;
        of->files[of->n_files++] = pages->files[i];
    }
    *parted = false;
    if (fitting.n_files < 2 || find_twin(&fitting) >= 0 || find_twin(&others) >= 0)
        return TS_OK;
    const enum ts_status status = ts_tiff_find_gap(&fitting, &gap, diag);
    *parted = gap.file < 0;
    return status;
}

/* The files of one scan have names of one suffix, or as many digits as the longer of the two
 * names. */
static enum ts_status refuse_twins(const struct tiff_pages *pages, const char *folder, int64_t i,
                                   struct ts_diag *diag)
{
    const char *a = ts_base_name(pages->files[i].path), *b = ts_base_name(pages->files[i + 1].path),
               *longer = strlen(b) > strlen(a) ? b : a;
    char pattern[PATTERN_BYTES], text[PATTERN_BYTES];
    bool parted = false;
    enum ts_status status = TS_OK;
    for (int k = 0; k < 2 && !parted && status == TS_OK; k++) {
        write_pattern(longer, pages->decimals, UINT32_MAX, "*?"[k], pattern);
        status = part_twins(pages, pattern, &parted, diag);
    }
    if (status != TS_OK)
        return status;
    ts_text_escape(text, sizeof text, pattern);
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-names"),
                  "%s holds two files of the same number, as two scans have: %s and %s", folder, a,
                  b);
    if (parted)
        return ts_diag_hint(diag, "pattern: \"%s\" takes the files of one scan", text);
    return ts_diag_hint(diag, TIFF_ORDER_HINT);
}

enum ts_status ts_tiff_check_running(const struct tiff_pages *pages, const char *folder,
                                     struct ts_diag *diag)
{
    bool runs[TIFF_MOST_NUMBERS] = {false};
    int64_t restart[TIFF_MOST_NUMBERS] = {0}; /* the file before, counted from 1; 0: none */
    struct tiff_numbers before = {.n = 0};
    int n = 0;
    const int64_t twin = find_twin(pages);
    if (twin >= 0)
        return refuse_twins(pages, folder, twin, diag);
    for (int64_t i = 0; i < pages->n_files; i++) {
        const struct tiff_numbers here =
            ts_tiff_find_numbers(ts_base_name(pages->files[i].path), pages->decimals);
        if (i > 0 && here.n != before.n)
            return TS_OK; /* not of one kind */
        n = here.n;
        const struct tiff_stamp stamp = ts_tiff_find_stamp(&here);
        const int behind =
            stamp.n > 0 ? stamp.first + stamp.n + 1 : 0; /* perhaps a fraction of the second */
        for (int c = behind; c < n && i > 0; c++) {
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * Examines each number of the names that rises from file to file: if it rises by the same step
 * everywhere, it counts the files; if one step is wider, a file is missing. Dates and times of day
 * do neither.
 */
#include "io/scan/tiff_gaps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/number.h"
#include "core/path.h"
#include "core/search.h"
#include "io/scan/tiff_names.h"

enum { NUMBER_DIGITS = 15 };
static const double EVEN_STEP = 1e-6; /* in steps */

/* One of the numbers of the names, in the order of the files. */
struct column {
    double *values;
    int64_t n;
    double unit;  /* of the last digit; 0: they have exponents */
    bool decimal; /* some have fractions */
};

enum spacing { UNEVEN, EVEN, GAP };

/* Reads a number of `length` characters of a name, which may have leading zeros. Returns false if
 * it has too many digits. */
static bool read_number(const char *at, size_t length, double *value)
{
    char text[NUMBER_DIGITS + 4] = "";
    const char *const end = at + length;
    size_t n = 0;
    if (*at == '-')
        text[n++] = *at++;
    while (end - at > 1 && *at == '0' && at[1] >= '0' && at[1] <= '9')
        at++;
    if (n + (size_t)(end - at) >= sizeof text)
        return false;
    memcpy(text + n, at, (size_t)(end - at));
    return !ts_number_real(text, value);
}

/* Returns the length of the part of the paths of all files that names no file: folders that they
 * share. */
static size_t find_shared_folders(const struct tiff_pages *pages)
{
    const char *first = pages->files[0].path;
    size_t n = (size_t)(ts_base_name(first) - first);
    for (int64_t i = 1; i < pages->n_files; i++)
        while (n > 0 && (strncmp(pages->files[i].path, first, n) != 0 || first[n - 1] != '/'))
            n--;
    return n;
}

/* Reads the number `c` of all names. Returns false if one has too many digits. */
static bool read_column(const struct tiff_pages *pages, size_t folders, int c,
                        struct column *column)
{
    size_t digits = 0;
    bool exponent = false;
    for (int64_t i = 0; i < column->n; i++) {
        const struct tiff_numbers numbers =
            ts_tiff_find_numbers(pages->files[i].path + folders, pages->decimals);
        const char *at = numbers.at[c], *point = memchr(at, '.', numbers.length[c]);
        const size_t fraction = point ? (size_t)(at + numbers.length[c] - point - 1) : 0;
        if (!read_number(at, numbers.length[c], &column->values[i]))
            return false;
        digits = fraction > digits ? fraction : digits;
        exponent |= memchr(at, 'e', numbers.length[c]) || memchr(at, 'E', numbers.length[c]);
    }
    column->decimal = digits > 0;
    column->unit = exponent ? 0 : pow(10, -(double)digits);
    return true;
}

/* Returns true if the numbers rise from each file to the next. */
static bool rises(const struct column *column)
{
    for (int64_t i = 1; i < column->n; i++)
        if (column->values[i] <= column->values[i - 1])
            return false;
    return true;
}

/* All steps are several of the smallest, which is that of at least every second file, or of one of
 * four. */
static enum spacing find_exact_gap(const struct column *column, double least, struct tiff_gap *gap)
{
    enum { FEW_STEPS = 3 };
    const int64_t n_steps = column->n - 1;
    int64_t n_regular = 0, found = -1;
    for (int64_t i = 0; i < n_steps; i++) {
        const double step = column->values[i + 1] - column->values[i];
        const bool regular = fabs(step - least) <= EVEN_STEP * least;
        if (fabs(remainder(step, least)) > EVEN_STEP * least)
            return UNEVEN;
        n_regular += regular;
        if (!regular && found < 0)
            found = i;
    }
    if (found < 0)
        return EVEN;
    *gap = (struct tiff_gap){found, column->values[found] + least, least};
    return 2 * n_regular >= n_steps || n_steps <= FEW_STEPS ? GAP : UNEVEN;
}

/* Finds gaps in even numbers that were rounded to their last digit: their steps differ by one unit
   of it. Plotted over their places, which include the missing files, they are on a line. A few
   short steps may be so by chance and are ignored. */
static enum spacing find_rounded_gap(const struct column *column, double least,
                                     struct tiff_gap *gap)
{
    enum { SHORT = 2, CHANCE = 40 };
    const double *values = column->values, slack = column->unit * (1 + EVEN_STEP);
    const int64_t n_steps = column->n - 1;
    double sum = 0, places = 0;
    int64_t n_regular = 0;
    for (int64_t i = 0; i < n_steps; i++) {
        const double step = values[i + 1] - values[i];
        sum += step <= least + slack ? step : 0;
        n_regular += step <= least + slack;
    }
    if (least < (SHORT - EVEN_STEP) * column->unit ||
        least * (double)n_steps < CHANCE * column->unit || 2 * n_regular < n_steps)
        return UNEVEN;
    const double step = sum / (double)n_regular;
    for (int64_t i = 0; i < n_steps; i++)
        places += fmax(1, round((values[i + 1] - values[i]) / step));
    const double slope = (values[n_steps] - values[0]) / places;
    enum spacing spacing = EVEN;
    places = 0;
    for (int64_t i = 0; i < n_steps; i++) {
        const double wide = fmax(1, round((values[i + 1] - values[i]) / step)),
                     next = values[0] + slope * (places + 1);
        if (wide > 1 && spacing == EVEN) {
            *gap = (struct tiff_gap){i, round(next / column->unit) * column->unit, slope};
            spacing = GAP;
        }
        places += wide;
        if (fabs(values[i + 1] - values[0] - slope * places) > slack)
            return UNEVEN;
    }
    return spacing;
}

static enum spacing find_column_gap(const struct column *column, struct tiff_gap *gap)
{
    double least = INFINITY;
    for (int64_t i = 1; i < column->n; i++)
        least = fmin(least, column->values[i] - column->values[i - 1]);
    const enum spacing exact = find_exact_gap(column, least, gap);
    return exact == UNEVEN && column->unit > 0 ? find_rounded_gap(column, least, gap) : exact;
}

/* Returns true if rising numbers are the even angles of the chain's range, perhaps rounded to their
 * last digit, or cut off there. */
static bool are_angles(const struct tiff_pages *pages, const struct column *column)
{
    const int64_t n = column->n, n_steps = n - pages->endpoint;
    if (pages->order != TIFF_ORDER_RANGE || n_steps < 1)
        return false;
    const double step = (pages->range[1] - pages->range[0]) / (double)n_steps,
                 least = fmin(pages->range[0], pages->range[0] + step * (double)(n - 1)),
                 slack = EVEN_STEP * fmax(fabs(step), column->unit);
    for (int64_t i = 0; i < n; i++) {
        const double off = column->values[i] - (least + fabs(step) * (double)i);
        if (!(off < column->unit / 2 + slack && off > fmin(slack - column->unit, -slack)))
            return false;
    }
    return true;
}

/* Angles in whole degrees, 1.2 of them apart, have steps of one and two. They look like a counter
   with gaps, but a counter with many gaps would hardly be so even. */
static bool are_rounded_angles(const struct tiff_pages *pages, const struct column *column,
                               double least)
{
    enum { MANY = 10 };
    int64_t n_wide = 0;
    for (int64_t i = 1; i < column->n; i++)
        n_wide += column->values[i] - column->values[i - 1] > 1.5 * least;
    return n_wide >= MANY && are_angles(pages, column);
}

/* What numbers of a kind, whole or decimal, say. */
struct finding {
    bool even;
    struct tiff_gap gap;
    double unit; /* of the numbers with the gap */
};

/* Decimal numbers are angles, so they count before whole ones, which are counters or times. If any
   number is even, nothing is missing; steps of one or two units beside an even counter are rounded
   ones. */
static struct tiff_gap choose_gap(const struct finding *whole, const struct finding *decimal)
{
    const struct tiff_gap none = {.file = -1};
    if (decimal->even)
        return none;
    if (decimal->gap.file >= 0 && !(whole->even && decimal->gap.step < 1.5 * decimal->unit))
        return decimal->gap;
    return whole->even ? none : whole->gap;
}

static bool have_same_text(const struct tiff_pages *pages, size_t folders)
{
    for (int64_t i = 1; i < pages->n_files; i++)
        if (!ts_tiff_same_text(pages->files[0].path + folders, pages->files[i].path + folders,
                               pages->decimals, false))
            return false;
    return true;
}

enum ts_status ts_tiff_find_gap(const struct tiff_pages *pages, struct tiff_gap *gap,
                                struct ts_diag *diag)
{
    const size_t folders = find_shared_folders(pages),
                 bytes = (size_t)pages->n_files * sizeof(double);
    const struct tiff_numbers numbers =
        ts_tiff_find_numbers(pages->files[0].path + folders, pages->decimals);
    const struct tiff_stamp stamp = ts_tiff_find_stamp(&numbers);
    struct finding found[2] = {{.gap.file = -1},
                               {.gap.file = -1}}; /* of whole and of decimal numbers */
    struct column column = {.values = malloc(bytes), .n = pages->n_files};
    gap->file = -1;
    if (!column.values)
        return ts_diag_no_memory(diag, bytes);
    const int n = pages->n_files > 1 && have_same_text(pages, folders) ? numbers.n : 0;
    for (int c = 0; c < n; c++) {
        struct tiff_gap here;
        if ((c >= stamp.first && c < stamp.first + stamp.n) ||
            !read_column(pages, folders, c, &column) || !rises(&column))
            continue;
        struct finding *of = &found[column.decimal];
        enum spacing spacing = find_column_gap(&column, &here);
        if (spacing == GAP && are_rounded_angles(pages, &column, here.step))
            spacing = EVEN;
        of->even |= spacing == EVEN;
        if (spacing == GAP && of->gap.file < 0) {
            of->gap = here;
            of->unit = column.unit;
        }
    }
    free(column.values);
    *gap = choose_gap(&found[0], &found[1]);
    return TS_OK;
}

enum tiff_steps ts_tiff_read_steps(const struct tiff_pages *pages, int c, double *values,
                                   double *scratch, bool *angles, double *unit)
{
    struct column column = {.values = values, .n = pages->n_files};
    struct tiff_gap unused;
    *angles = false;
    if (!read_column(pages, find_shared_folders(pages), c, &column))
        return TIFF_STEPS_NONE;
    *unit = column.unit;
    memcpy(scratch, values, (size_t)column.n * sizeof *values);
    qsort(scratch, (size_t)column.n, sizeof *scratch, ts_compare_doubles);
    column.values = scratch;
    if (!rises(&column))
        return TIFF_STEPS_NONE;
    const enum spacing spacing = find_column_gap(&column, &unused);
    *angles = are_angles(pages, &column);
    if (spacing != EVEN)
        return spacing == GAP ? TIFF_STEPS_GAP : TIFF_STEPS_UNEVEN;
    return !column.decimal && scratch[column.n - 1] - scratch[0] == (double)(column.n - 1)
               ? TIFF_STEPS_ONE
               : TIFF_STEPS_EVEN;
}

double ts_tiff_late_number(const struct tiff_pages *pages)
{
    if (pages->n_files < 3)
        return 0;
    const size_t folders = find_shared_folders(pages);
    const char *a = pages->files[0].path + folders, *b = pages->files[1].path + folders;
    const struct tiff_numbers first = ts_tiff_find_numbers(a, pages->decimals),
                              second = ts_tiff_find_numbers(b, pages->decimals);
    const struct tiff_stamp stamp = ts_tiff_find_stamp(&first);
    if (!ts_tiff_same_text(a, b, pages->decimals, false))
        return 0;
    for (int c = 0; c < first.n; c++) {
        double from, to;
        if ((c < stamp.first || c >= stamp.first + stamp.n) &&
            read_number(first.at[c], first.length[c], &from) &&
            read_number(second.at[c], second.length[c], &to) && to == from + 1)
            return from > 1 && from <= (double)pages->n_files ? from : 0;
    }
    return 0;
}

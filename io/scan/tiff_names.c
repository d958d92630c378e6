/* SPDX-License-Identifier: Apache-2.0
 *
 * Files are sorted by kind, so that a folder of many files is looked at only once. A hint names a
 * pattern only if it fits the files of one kind and no others.
 */
#include "io/scan/tiff_names.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/path.h"

enum { SHOWN_KINDS = 4, PATTERN_BYTES = 600, NUMBER_BYTES = 64 };

/* A number is a run of digits. A minus before it is a sign if no letter, digit or bracket of a word
 * is before that, as in a_-10 and not in 2024-01 or scan-1; a fraction counts with a sign, and
 * before "deg", since 1.10 comes behind 1.9 if the two are numbers of their own. A point that parts
 * three groups of digits, as in dates, is none of a decimal number. */
size_t ts_tiff_number(const char *name, const char *at, bool decimals)
{
    static const char digits[] = "0123456789";
    const bool minus = *at == '-' && (at == name || strchr("/_ =(+", at[-1]));
    const size_t whole = strspn(at + minus, digits);
    if (whole == 0 || (!minus && at > name && isdigit((unsigned char)at[-1])))
        return 0;
    const char *end = at + minus + whole;
    const size_t fraction = *end == '.' ? strspn(end + 1, digits) : 0;
    const char *behind = end + 1 + fraction;
    const bool parts = (fraction > 0 && *behind == '.' && isdigit((unsigned char)behind[1])) ||
                       (at > name + 1 && at[-1] == '.' && isdigit((unsigned char)at[-2]));
    const bool decimal = fraction > 0 && (minus || !strncasecmp(behind, "deg", 3) ||
                                          !strncmp(behind, "\xC2\xB0", 2) || (decimals && !parts));
    const size_t length = minus + whole + (decimal ? 1 + fraction : 0);
    const char *e = at + length;
    const size_t exponent = decimals && strchr("eE", *e) && *e && strchr("+-", e[1]) && e[1]
                                ? strspn(e + 2, digits)
                                : 0;
    return length + (exponent > 0 ? 2 + exponent : 0);
}

/* Compares the amounts of two numbers of these lengths, without their signs. */
static int compare_amounts(const char *a, size_t n_a, const char *b, size_t n_b)
{
    const char *const end_a = a + n_a, *const end_b = b + n_b;
    for (; a < end_a && *a == '0'; a++)
        ;
    for (; b < end_b && *b == '0'; b++)
        ;
    const size_t whole_a = strspn(a, "0123456789"), whole_b = strspn(b, "0123456789");
    if (whole_a != whole_b)
        return whole_a < whole_b ? -1 : 1;
    const int order = memcmp(a, b, whole_a);
    if (order)
        return order;
    for (a += whole_a, b += whole_b; a < end_a || b < end_b;
         a++, b++) { /* the point, and what follows it */
        const char digit_a = a < end_a ? *a : '0', digit_b = b < end_b ? *b : '0';
        if (digit_a != digit_b && digit_a != '.' && digit_b != '.')
            return digit_a - digit_b;
    }
    return 0;
}

/* Returns the value of a number with an exponent; NaN if it is too long for one. */
static double value_of(const char *at, size_t n)
{
    char text[NUMBER_BYTES] = "";
    if (n >= sizeof text)
        return NAN;
    memcpy(text, at, n);
    return strtod(text, NULL);
}

static bool has_exponent(const char *at, size_t n)
{
    return memchr(at, 'e', n) || memchr(at, 'E', n);
}

int ts_tiff_compare_numbers(const char *a, size_t n_a, const char *b, size_t n_b)
{
    if (has_exponent(a, n_a) || has_exponent(b, n_b)) {
        const double value_a = value_of(a, n_a), value_b = value_of(b, n_b);
        return (value_a > value_b) - (value_a < value_b);
    }
    const bool minus_a = *a == '-', minus_b = *b == '-';
    const int order = compare_amounts(a + minus_a, n_a - minus_a, b + minus_b, n_b - minus_b);
    if (minus_a == minus_b)
        return minus_a ? -order : order;
    return minus_a ? -1 : 1;
}

int ts_tiff_compare_names(const char *a, const char *b, bool decimals)
{
    const char *const start_a = a, *const start_b = b;
    while (*a && *b) {
        const size_t n_a = ts_tiff_number(start_a, a, decimals),
                     n_b = ts_tiff_number(start_b, b, decimals);
        const int order = n_a > 0 && n_b > 0 ? ts_tiff_compare_numbers(a, n_a, b, n_b)
                                             : (n_a > 0 ? '0' : (unsigned char)*a) -
                                                   (n_b > 0 ? '0' : (unsigned char)*b);
        if (order)
            return order;
        a += n_a > 0 ? n_a : 1;
        b += n_b > 0 ? n_b : 1;
    }
    return *a || *b ? (unsigned char)*a - (unsigned char)*b : strcmp(start_a, start_b);
}

struct tiff_numbers ts_tiff_find_numbers(const char *name, bool decimals)
{
    struct tiff_numbers found = {.n = 0};
    for (const char *at = name; *at && found.n < TIFF_MOST_NUMBERS;) {
        const size_t length = ts_tiff_number(name, at, decimals);
        if (length > 0) {
            found.at[found.n] = at;
            found.length[found.n++] = length;
        }
        at += length > 0 ? length : 1;
    }
    return found;
}

struct tiff_stamp ts_tiff_find_stamp(const struct tiff_numbers *numbers)
{
    static const size_t forms[][7] = {{4, 2, 2, 2, 2, 2}, {8, 6}, {8, 2, 2, 2}, {4, 2, 2, 6}, {14}};
    for (int from = 0; from < numbers->n; from++)
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            int k = 0;
            while (forms[f][k] > 0 && from + k < numbers->n &&
                   numbers->length[from + k] == forms[f][k])
                k++;
            const bool year =
                !strncmp(numbers->at[from], "19", 2) || !strncmp(numbers->at[from], "20", 2);
            if (forms[f][k] == 0 && year)
                return (struct tiff_stamp){from, k};
        }
    return (struct tiff_stamp){0, 0};
}

bool ts_tiff_same_text(const char *a, const char *b, bool decimals, bool any_suffix)
{
    const char *const start_a = a, *const start_b = b;
    const char *const suffix_a = any_suffix ? strrchr(a, '.') : NULL, *const suffix_b =
                                                                          any_suffix
                                                                              ? strrchr(b, '.')
                                                                              : NULL;
    while (*a && *b && (a != suffix_a || b != suffix_b)) {
        const size_t n_a = ts_tiff_number(start_a, a, decimals),
                     n_b = ts_tiff_number(start_b, b, decimals);
        if ((n_a > 0) != (n_b > 0) || (n_a == 0 && *a != *b))
            return false;
        a += n_a > 0 ? n_a : 1;
        b += n_b > 0 ? n_b : 1;
    }
    return *a == *b || (any_suffix && a == suffix_a && b == suffix_b);
}

/* A kind of names, which has n files from `first` on in the sorted list. */
struct kind {
    const char *stem, *name;
    int64_t n, first;
};

/* Returns the name without its suffix, each number replaced by a character that no name has, or
 * NULL. */
static const char *stem_of(struct arena *arena, const char *name, bool decimals)
{
    const char *end = strrchr(name, '.');
    char *stem = ts_arena_alloc(arena, strlen(name) + 1), *out = stem;
    for (const char *at = name; stem && at < end;) {
        const size_t n = ts_tiff_number(name, at, decimals);
        *out++ = n > 0 ? '/' : *at;
        at += n > 0 ? n : 1;
    }
    if (stem)
        *out = '\0';
    return stem;
}

static int compare_stems(const void *a, const void *b)
{
    return strcmp(((const struct kind *)a)->stem, ((const struct kind *)b)->stem);
}

static int compare_counts(const void *a, const void *b)
{
    const struct kind *first = a, *second = b;
    return first->n != second->n ? (first->n < second->n) - (first->n > second->n)
                                 : ts_tiff_compare_names(first->name, second->name, false);
}

/* Makes a list of the kinds; NULL if memory is out. */
static struct kind *list_kinds(const struct tiff_pages *pages, struct arena *arena,
                               int64_t *n_kinds)
{
    struct kind *kinds = ts_arena_alloc(arena, (size_t)pages->n_files * sizeof *kinds);
    for (int64_t i = 0; kinds && i < pages->n_files; i++) {
        const char *name = ts_base_name(pages->files[i].path);
        kinds[i] = (struct kind){stem_of(arena, name, pages->decimals), name, 1, i};
        if (!kinds[i].stem)
            return NULL;
    }
    if (!kinds)
        return NULL;
    qsort(kinds, (size_t)pages->n_files, sizeof *kinds, compare_stems);
    *n_kinds = 0;
    for (int64_t i = 0; i < pages->n_files; i++)
        if (*n_kinds > 0 && !strcmp(kinds[*n_kinds - 1].stem, kinds[i].stem))
            kinds[*n_kinds - 1].n++;
        else
            kinds[(*n_kinds)++] = kinds[i];
    qsort(kinds, (size_t)*n_kinds, sizeof *kinds, compare_counts);
    return kinds;
}

/* Writes a pattern of the kind, with this text in place of each number, or for NULL a ? in place of
 * each digit. */
static void write_pattern(const struct kind *kind, const char *number, char pattern[PATTERN_BYTES])
{
    size_t used = 0;
    const char *const from = number ? kind->stem : kind->name, *const end =
                                                                   number ? from + strlen(from)
                                                                          : strrchr(from, '.');
    for (const char *at = from; at < end && used + 16 < PATTERN_BYTES; at++)
        if (number ? *at == '/' : isdigit((unsigned char)*at))
            used +=
                (size_t)snprintf(pattern + used, PATTERN_BYTES - used, "%s", number ? number : "?");
        else
            used += (size_t)snprintf(pattern + used, PATTERN_BYTES - used, "%s%c",
                                     strchr("*?[\\", *at) ? "\\" : "", *at);
    snprintf(pattern + used, PATTERN_BYTES - used, ".*");
}

static bool fits(const struct tiff_pages *pages, const struct kind *kind, const char *pattern)
{
    int64_t n = 0;
    for (int64_t i = 0; i < pages->n_files; i++)
        n += fnmatch(pattern, ts_base_name(pages->files[i].path), FNM_PERIOD) == 0;
    return n == kind->n && fnmatch(pattern, kind->name, FNM_PERIOD) == 0;
}

/* Finds a pattern that the names of this kind fit, and no others. */
static bool find_pattern(const struct tiff_pages *pages, const struct kind *kind,
                         char pattern[PATTERN_BYTES])
{
    const char *suffix = strrchr(kind->name, '.');
    static const char *const numbers[] = {"*", "[0-9]*", NULL};
    for (int i = 0; i < 3; i++) {
        write_pattern(kind, numbers[i], pattern);
        char exact[PATTERN_BYTES];
        snprintf(exact, sizeof exact, "%.*s%s", (int)(strlen(pattern) - 2), pattern, suffix);
        if (fits(pages, kind, exact)) {
            snprintf(pattern, PATTERN_BYTES, "%s", exact);
            return true;
        }
        if (fits(pages, kind, pattern))
            return true;
    }
    return false;
}

/* Returns true if all names are hexadecimal numbers, except what they have in common, and some
   contain letters. */
static bool are_hexadecimal(const struct tiff_pages *pages)
{
    const char *first = ts_base_name(pages->files[0].path);
    size_t before = strlen(first), behind = before;
    bool letters = false, digits = false;
    for (int64_t i = 1; i < pages->n_files; i++) {
        const char *name = ts_base_name(pages->files[i].path);
        const size_t n = strlen(name), n_first = strlen(first);
        size_t k = 0;
        while (k < before && name[k] == first[k])
            k++;
        before = k;
        for (k = 0; k < behind && k < n && name[n - 1 - k] == first[n_first - 1 - k];)
            k++;
        behind = k;
    }
    for (int64_t i = 0; i < pages->n_files; i++) {
        const char *name = ts_base_name(pages->files[i].path);
        for (size_t k = before; k + behind < strlen(name); k++) {
            if (!isxdigit((unsigned char)name[k]))
                return false;
            letters |= isalpha((unsigned char)name[k]) != 0;
            digits |= isdigit((unsigned char)name[k]) != 0;
        }
    }
    return letters && digits;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns true if two kinds differ only in capitals or signs. */
static bool are_variants(const struct kind *kinds, int64_t n, struct arena *arena)
{
    const char **keys = ts_arena_alloc(arena, (size_t)n * sizeof *keys);
    for (int64_t i = 0; keys && i < n; i++) {
        char *key = ts_arena_alloc(arena, strlen(kinds[i].stem) + 1), *out = key;
        if (!key)
            return false;
        for (const char *at = kinds[i].stem; *at; at++)
            if (*at != '-' && *at != '+')
                *out++ = (char)tolower((unsigned char)*at);
        *out = '\0';
        keys[i] = key;
    }
    if (!keys)
        return false;
    qsort(keys, (size_t)n, sizeof *keys, compare_texts);
    for (int64_t i = 1; i < n; i++)
        if (!strcmp(keys[i - 1], keys[i]))
            return true;
    return false;
}

/* Takes files of several kinds, which are in the order of their names, with a warning; or refuses
 * them. */
static enum ts_status take_kinds(const struct tiff_pages *pages, const char *folder,
                                 int64_t n_kinds, bool sure, struct ts_diag *diag)
{
    const char *first = ts_base_name(pages->files[0].path),
               *last = ts_base_name(pages->files[pages->n_files - 1].path);
    if (sure) {
        ts_diag_warning(diag, TIFF_SITE(pages, "tiff-order"),
                        "the names of the files in %s differ in more than numbers: they are read "
                        "in the order of their letters and numbers, from %s to %s",
                        folder, first, last);
        return TS_OK;
    }
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-order"),
                  "%s holds files of %lld kinds, and their names, such as %s and %s, do not say in "
                  "which order they are",
                  folder, (long long)n_kinds, first, last);
    return ts_diag_hint(diag, TIFF_ORDER_HINT);
}

static enum ts_status refuse_kinds(const struct tiff_pages *pages, const char *folder,
                                   const struct kind *kinds, int64_t n_kinds, bool sure,
                                   struct ts_diag *diag)
{
    char shown[SHOWN_KINDS * 2 * PATTERN_BYTES] = "", first[PATTERN_BYTES] = "",
                                 text[PATTERN_BYTES];
    for (int64_t i = 0; i < n_kinds && i < SHOWN_KINDS; i++) {
        char pattern[PATTERN_BYTES];
        const size_t used = strlen(shown);
        const bool found = find_pattern(pages, &kinds[i], pattern);
        ts_text_escape(text, sizeof text, found ? pattern : kinds[i].name);
        snprintf(shown + used, sizeof shown - used, "%s%s%s (%lld)", used ? ", " : "", text,
                 found ? "" : ", ...", (long long)kinds[i].n);
        if (found && !*first)
            snprintf(first, sizeof first, "%s", text);
    }
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-names"),
                  "%s holds files of %lld kinds, of which one is meant: %s%s", folder,
                  (long long)n_kinds, shown, n_kinds > SHOWN_KINDS ? ", ..." : "");
    if (*first && !sure && !are_hexadecimal(pages))
        return ts_diag_hint(diag,
                            "pattern: \"%s\" takes the files of one kind; tiff: [FILE, FILE, ...] "
                            "reads files in the order of the list",
                            first);
    if (!sure)
        return ts_diag_hint(diag, TIFF_ORDER_HINT);
    if (*first)
        return ts_diag_hint(
            diag, "pattern: \"%s\" takes the files of one kind; pattern: \"*\" takes all of them",
            first);
    return ts_diag_hint(diag, "pattern: \"*\" takes all of them; a list of files takes some");
}

bool ts_tiff_takes_all(const char *pattern)
{
    return pattern && pattern[0] == '*' && (!pattern[1] || pattern[1] == '.');
}

enum ts_status ts_tiff_check_names(const struct tiff_pages *pages, const char *folder,
                                   const char *pattern, struct ts_diag *diag)
{
    int64_t n_kinds = 0, n_single = 0;
    const bool all = ts_tiff_takes_all(pattern);
    if (pages->n_files < 3)
        return TS_OK;
    struct arena *arena = ts_arena_create();
    const struct kind *kinds = arena ? list_kinds(pages, arena, &n_kinds) : NULL;
    for (int64_t i = 0; i < n_kinds; i++)
        n_single += kinds[i].n == 1;
    enum ts_status status = TS_OK;
    if (!kinds)
        status = ts_diag_no_memory(diag, (size_t)pages->n_files * sizeof *kinds);
    else if (n_kinds > 1) {
        const bool sure = !are_hexadecimal(pages) && !are_variants(kinds, n_kinds, arena);
        status = !all && 2 * n_single <= pages->n_files
                     ? refuse_kinds(pages, folder, kinds, n_kinds, sure, diag)
                     : take_kinds(pages, folder, n_kinds, sure, diag);
    }
    ts_arena_destroy(arena);
    return status;
}

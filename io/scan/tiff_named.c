/* SPDX-License-Identifier: Apache-2.0 */
#include "io/scan/tiff_named.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/path.h"
#include "io/scan/tiff_gaps.h"
#include "io/scan/tiff_names.h"
#include "io/source/angle_unit.h"

enum { FEWEST_FILES = 3 };

/* What the text around a number says of it. */
enum mark { MARK_NONE, MARK_ANGLE, MARK_OTHER };

static enum mark find_mark(const char *name, const char *at, size_t length)
{
    static const char *const words[] = {"ang",     "angle",    "theta", "deg",   "degree",
                                        "degrees", "rotation", "rot",   "omega", "phi"};
    const char *end = at, *begin;
    if (!strncasecmp(at + length + strspn(at + length, "_ "), "deg", 3) ||
        !strncmp(at + length, "\xC2\xB0", 2))
        return MARK_ANGLE;
    while (end > name && strchr("_-=( +", end[-1]))
        end--;
    for (begin = end; begin > name && isalpha((unsigned char)begin[-1]);)
        begin--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((size_t)(end - begin) == strlen(words[i]) &&
            !strncasecmp(begin, words[i], strlen(words[i])))
            return MARK_ANGLE;
    /* Letters before or behind it, as in t12 and 12s, call it something else. */
    return (end == at && begin < end) || (isalpha((unsigned char)at[length]) && at[length] != '.')
               ? MARK_OTHER
               : MARK_NONE;
}

static bool have_same_text(const struct tiff_pages *pages)
{
    const char *first = pages->files[0].path;
    const size_t folder = (size_t)(ts_base_name(first) - first);
    for (int64_t i = 1; i < pages->n_files; i++) {
        const char *path = pages->files[i].path;
        if ((size_t)(ts_base_name(path) - path) != folder || strncmp(path, first, folder) != 0 ||
            !ts_tiff_same_text(first + folder, path + folder, pages->decimals, true))
            return false;
    }
    return true;
}

/* Returns true if n even numbers with this step go over half a turn or a turn, with its end or
 * without. */
static bool is_turn(double span, double step, double unit)
{
    for (int turn = 180; turn <= 360; turn += 180)
        if (fabs(span - turn) <= unit + 1e-6 * turn ||
            fabs(span + step - turn) <= unit + 1e-6 * turn)
            return true;
    return false;
}

/* Examines the number c. Returns false if it is no angle; sets *counts if it counts the files. */
static bool read_named(const struct tiff_pages *pages, int c, enum mark mark, double *values,
                       double *sorted, struct tiff_named *named, bool *counts)
{
    const int64_t n = pages->n_files;
    double least = INFINITY;
    bool unused;
    const enum tiff_steps steps =
        ts_tiff_read_steps(pages, c, values, sorted, &unused, &named->unit);
    *counts = false;
    if (steps == TIFF_STEPS_NONE || named->unit == 0 || mark == MARK_OTHER)
        return false;
    for (int64_t i = 1; i < n; i++)
        least = fmin(least, sorted[i] - sorted[i - 1]);
    *counts = named->unit == 1 && steps >= TIFF_STEPS_GAP && least == 1;
    const bool even = steps >= TIFF_STEPS_EVEN, rises = values[n - 1] > values[0];
    named->step = even ? (rises ? 1 : -1) * (sorted[n - 1] - sorted[0]) / (double)(n - 1) : 0;
    for (int64_t i = 1; even && i < n; i++) /* in the order of the files */
        if (fabs(values[i] - values[0] - named->step * (double)i) > named->unit)
            named->step = 0;
    return mark == MARK_ANGLE || (steps >= TIFF_STEPS_GAP && !*counts &&
                                  is_turn(sorted[n - 1] - sorted[0], least, named->unit));
}

enum ts_status ts_tiff_named_angles(const struct tiff_pages *pages, struct tiff_named *named,
                                    struct ts_diag *diag)
{
    const size_t bytes = (size_t)pages->n_files * sizeof(double);
    bool whole = false, counted = false;
    *named = (struct tiff_named){NULL, 0, 0};
    if (pages->n_files < FEWEST_FILES || pages->n_files != pages->n_pages || !have_same_text(pages))
        return TS_OK;
    const char *name = ts_base_name(pages->files[0].path);
    const struct tiff_numbers numbers = ts_tiff_find_numbers(name, pages->decimals);
    const struct tiff_stamp stamp = ts_tiff_find_stamp(&numbers);
    double *values = ts_arena_alloc(pages->arena, bytes),
           *sorted = ts_arena_alloc(pages->arena, bytes),
           *kept = ts_arena_alloc(pages->arena, bytes);
    if (!values || !sorted || !kept)
        return ts_diag_no_memory(diag, bytes);
    enum mark best = MARK_OTHER;
    for (int c = 0; c < numbers.n; c++) {
        struct tiff_named here = {kept, 0, 0};
        bool counts = false;
        if (c >= stamp.first && c < stamp.first + stamp.n)
            continue;
        const enum mark mark = find_mark(name, numbers.at[c], numbers.length[c]);
        const bool angle = read_named(pages, c, mark, values, sorted, &here, &counts);
        counted |= counts;
        if (!angle || best == MARK_ANGLE || (best == MARK_NONE && mark != MARK_ANGLE))
            continue;
        memcpy(kept, values, bytes);
        *named = here;
        best = mark;
        whole = here.unit == 1;
    }
    if (best == MARK_NONE && whole && !counted)
        named->values = NULL;
    return TS_OK;
}

/* Returns by how much the angles of the views turn otherwise than those of the names, which may
 * begin elsewhere, turn the other way, and be radians. */
static double largest_difference(const struct ts_axis *views, const struct tiff_named *named,
                                 double factor)
{
    double largest[2] = {0, 0};
    for (int64_t i = 1; i < views->n; i++) {
        const double turned = ts_axis_position(views, i) - ts_axis_position(views, 0),
                     said = factor * (named->values[i] - named->values[0]);
        largest[0] = fmax(largest[0], fabs(remainder(turned - said, 360)));
        largest[1] = fmax(largest[1], fabs(remainder(turned + said, 360)));
    }
    return fmin(largest[0], largest[1]);
}

enum ts_status ts_tiff_check_named(const struct tiff_pages *pages, const struct ts_axis *views,
                                   bool list, bool *told, struct ts_diag *diag)
{
    *told = false;
    struct tiff_named named;
    const int64_t n = views->n;
    const enum ts_status status = ts_tiff_named_angles(pages, &named, diag);
    if (status != TS_OK || !named.values || n != pages->n_files)
        return status;
    const double range = fabs(named.values[n - 1] - named.values[0]),
                 factor = ts_angles_look_like_radians(range, n) ? 180 / M_PI : 1,
                 slack = named.step != 0 ? named.unit + 0.25 * fabs(named.step) : named.unit + 0.5;
    if (largest_difference(views, &named, factor) <= factor * slack)
        return TS_OK;
    *told = true;
    ts_diag_warning(diag, TIFF_SITE(pages, "angles-named"),
                    "the angles of the views go from %.6g to %.6g degrees, and those in the names "
                    "of the files from %.9g (%s) to %.9g",
                    ts_axis_position(views, 0), ts_axis_position(views, n - 1), named.values[0],
                    ts_base_name(pages->files[0].path), named.values[n - 1]);
    if (named.step == 0)
        return ts_diag_hint(diag, "angles_file: PATH, with the numbers of the names, one a line in "
                                  "their order, takes those");
    return ts_diag_hint(
        diag, "angle_start: %.9g and angle_stop: %.9g%s%s take those of the names", named.values[0],
        named.values[0] + named.step * (double)(n - pages->endpoint),
        factor > 1 ? ", with angle_unit: radian," : "", list ? ", in place of the list," : "");
}

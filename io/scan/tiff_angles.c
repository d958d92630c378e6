/* SPDX-License-Identifier: Apache-2.0
 *
 * The angles of TIFF pages come from a list in the chain, from a text file beside it, or from a
 * range that the views divide evenly. In an even range only the number of a page decides, so a
 * missing page would shift all after it.
 */
#include "io/scan/tiff_angles.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/path.h"
#include "io/scan/tiff_gaps.h"
#include "io/scan/tiff_named.h"

enum { MAX_ANGLES_BYTES = 1 << 22 };

static const double pi = 3.14159265358979323846;

/* Reports a fault of the file of angles at the parameter angles_file. Returns TS_BAD_INPUT,
 * because the fault is in an input and not in the chain. */
__attribute__((format(printf, 4, 5))) static enum ts_status refuse_file(const struct param_set *set,
                                                                        struct ts_diag *diag,
                                                                        const char *code,
                                                                        const char *format, ...)
{
    char message[2048];
    size_t row;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    ts_param_find(set->params, set->n_params, "angles_file", &row);
    return ts_diag_error(
        diag, TS_BAD_INPUT,
        &(struct diag_site){.code = code, .span = set->spans[row], .stage = "input.angles_file"},
        "%s", message);
}

/* Returns the whole file, ended by a zero, or NULL (reported). */
static char *angles_text(const struct param_set *set, const char *path, struct ts_diag *diag)
{
    struct stat found;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = NULL;
    size_t got = 0;
    if (fd < 0 || fstat(fd, &found) != 0 || !S_ISREG(found.st_mode) ||
        found.st_size > MAX_ANGLES_BYTES) {
        refuse_file(set, diag, "input-unreadable", "cannot read %s: %s", path,
                    fd < 0 ? strerror(errno) : "it is not a file of at most 4 MiB");
    } else if ((text = calloc(1, (size_t)found.st_size + 1)) == NULL) {
        ts_diag_no_memory(diag, (size_t)found.st_size);
    } else {
        errno = 0;
        for (ssize_t n = 1; n > 0 && got<(size_t)found.st_size; got += n> 0 ? (size_t)n : 0)
            n = read(fd, text + got, (size_t)found.st_size - got);
        if (got < (size_t)found.st_size || strlen(text) < got) {
            refuse_file(set, diag, "input-unreadable", "%s is not text that can be read whole%s%s",
                        path, errno ? ": " : "", errno ? strerror(errno) : "");
            free(text);
            text = NULL;
        }
    }
    if (fd >= 0)
        close(fd);
    return text;
}

/* Parses numbers, one a line; blank lines and what follows a # are left out. Returns -1 if a line
 * is no number (reported). */
static int64_t parse_angles(const struct param_set *set, const char *path, char *text,
                            double *angles, struct ts_diag *diag)
{
    int64_t n = 0;
    int line = 1;
    static const char mark[] = "\xEF\xBB\xBF"; /* the mark of UTF-8 that some editors put first */
    for (char *at = text + (strncmp(text, mark, strlen(mark)) ? 0 : strlen(mark)); at; line++) {
        char *next = strchr(at, '\n'), *end;
        if (next)
            *next++ = '\0';
        at[strcspn(at, "#")] = '\0';
        const double value = strtod(at, &end);
        const bool number = end > at && isfinite(value);
        end += strspn(end, " \t\r");
        if (*end || (!number && end > at + strspn(at, " \t\r"))) {
            refuse_file(set, diag, "angle-not-a-number", "%s, line %d is not one number", path,
                        line);
            return -1;
        }
        if (number)
            angles[n++] = value;
        at = next;
    }
    return n;
}

/* Converts the angles to degrees. Refuses those that look like radians if the chain does not call
   them so. */
static enum ts_status convert_angles(const struct param_set *set, double *angles, int64_t n,
                                     struct ts_diag *diag)
{
    const struct tiff_params *params = set->values;
    const enum angle_unit unit = (enum angle_unit)params->angle_unit;
    const double range = ts_angles_to_degrees(angles, n, unit);
    if (unit == ANGLE_UNIT_RADIAN)
        ts_angles_warn_of_turns(range, n, diag);
    if (unit != ANGLE_UNIT_FILE || !ts_angles_look_like_radians(range, n))
        return TS_OK;
    refuse_file(
        set, diag, "angle-unit",
        "the %lld angles of %s are taken for degrees and have a range of %.6g, as radians would",
        (long long)n, params->angles_file, range);
    return ts_diag_hint(diag, "angle_unit: radian, or angle_unit: degree if they are degrees");
}

static enum ts_status angles_from_file(const struct param_set *set, struct arena *arena,
                                       struct ts_axis *axis, struct ts_diag *diag)
{
    const char *path = ((const struct tiff_params *)set->values)->angles_file;
    char *text = angles_text(set, path, diag);
    size_t lines = 1;
    if (!text)
        return TS_BAD_INPUT;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    double *angles = ts_arena_alloc(arena, lines * sizeof *angles);
    if (!angles)
        ts_diag_no_memory(diag, lines * sizeof *angles);
    const int64_t n = angles ? parse_angles(set, path, text, angles, diag) : -1;
    free(text);
    axis->positions = angles;
    if (n < 0)
        return TS_BAD_INPUT;
    if (n != axis->n)
        return refuse_file(set, diag, "angle-count",
                           "%s has %lld angles, expected %lld, one for each view", path,
                           (long long)n, (long long)axis->n);
    return convert_angles(set, angles, n, diag);
}

double ts_tiff_degrees(const struct tiff_params *params, double angle)
{
    return params->angle_unit == ANGLE_UNIT_RADIAN ? angle * (180 / pi) : angle;
}

static enum ts_status refuse_gap(const struct tiff_pages *pages, struct ts_diag *diag)
{
    struct tiff_gap gap;
    if (ts_tiff_find_gap(pages, &gap, diag) != TS_OK)
        return TS_RUN_FAILED;
    if (pages->n_skipped > 0)
        ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "page-missing"),
                      "%lld file%s skipped: evenly spaced angles would be wrong",
                      (long long)pages->n_skipped, pages->n_skipped == 1 ? " was" : "s were");
    else if (gap.file >= 0)
        ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "page-missing"),
                      "the number %.15g is missing between %s and %s: evenly spaced angles would "
                      "be wrong from there on",
                      gap.missing, ts_base_name(pages->files[gap.file].path),
                      ts_base_name(pages->files[gap.file + 1].path));
    else
        return TS_OK;
    return ts_diag_hint(diag, "angles_file gives the angles of the views that are there; gaps: "
                              "accept takes them as evenly spaced");
}

static enum ts_status angles_from_range(const struct param_set *set, const struct tiff_pages *pages,
                                        struct ts_axis *axis, struct ts_diag *diag)
{
    const struct tiff_params *params = set->values;
    const int64_t steps = axis->n - params->endpoint;
    if (!ts_param_given(set, "angle_start") || !ts_param_given(set, "angle_stop"))
        return ts_param_error(set, "angle_start", "angles-missing", diag,
                              "angle_start and angle_stop are given together");
    if (params->angle_start == params->angle_stop || steps < 1)
        return ts_param_error(set, "angle_stop", "angle-range", diag,
                              "%lld views from %g to %g degrees have no step", (long long)axis->n,
                              params->angle_start, params->angle_stop);
    axis->first = ts_tiff_degrees(params, params->angle_start);
    axis->spacing = (ts_tiff_degrees(params, params->angle_stop) - axis->first) / (double)steps;
    const double range = fabs(axis->spacing) * (double)(axis->n - 1);
    if (params->angle_unit == ANGLE_UNIT_FILE && ts_angles_look_like_radians(range, axis->n)) {
        ts_param_error(
            set, "angle_stop", "angle-unit", diag,
            "%lld views from %g to %g degrees are what half a turn or a turn would be in radians",
            (long long)axis->n, params->angle_start, params->angle_stop);
        return ts_diag_hint(diag, "angle_unit: radian, or angle_unit: degree if they are degrees");
    }
    if (params->angle_unit == ANGLE_UNIT_RADIAN)
        ts_angles_warn_of_turns(range * pi / 180, axis->n, diag);
    return params->gaps == TIFF_GAPS_ACCEPT ? TS_OK : refuse_gap(pages, diag);
}

/* The axis gets a copy, so that the chain's own angles stay as they were written. */
static enum ts_status angles_from_list(const struct param_set *set, struct arena *arena,
                                       struct ts_axis *axis, struct ts_diag *diag)
{
    const struct ts_numbers *list = &((const struct tiff_params *)set->values)->angles;
    const int64_t n = list->rows * list->columns;
    double *angles = ts_arena_copy(arena, list->values, (size_t)n, sizeof *angles);
    if (list->rows > 1 && list->columns > 1)
        return ts_param_error(set, "angles", "angle-count", diag,
                              "expected one list of numbers, not a list of lists");
    if (!angles)
        return ts_diag_no_memory(diag, (size_t)n * sizeof *angles);
    axis->positions = angles;
    return n == axis->n
               ? TS_OK
               : ts_param_error(set, "angles", "angle-count", diag, "%lld angles for %lld views",
                                (long long)n, (long long)axis->n);
}

static bool are_even(const struct ts_axis *axis)
{
    const double mean =
        (ts_axis_position(axis, axis->n - 1) - ts_axis_position(axis, 0)) / (double)(axis->n - 1);
    for (int64_t i = 1; i < axis->n; i++) {
        const double step = ts_axis_position(axis, i) - ts_axis_position(axis, i - 1);
        if (!(fabs(step - mean) < 0.25 * fabs(mean)))
            return false;
    }
    return true;
}

/* A list that goes on evenly where a view was lost gives those behind it the angles of others. */
static enum ts_status warn_of_even_list(const struct tiff_pages *pages, const struct ts_axis *axis,
                                        struct ts_diag *diag)
{
    enum { FEWEST = 4 };
    struct tiff_gap gap;
    if (axis->n != pages->n_files || axis->n < FEWEST || !are_even(axis))
        return TS_OK;
    const enum ts_status status = ts_tiff_find_gap(pages, &gap, diag);
    if (status != TS_OK || gap.file < 0)
        return status;
    ts_diag_warning(diag, TIFF_SITE(pages, "page-missing"),
                    "the number %.15g is missing between %s and %s, and the list of angles goes on "
                    "evenly there: if a view was lost, those behind it have the angles of others",
                    gap.missing, ts_base_name(pages->files[gap.file].path),
                    ts_base_name(pages->files[gap.file + 1].path));
    return ts_diag_hint(diag, "leave the angle of the lost view out of the list, in place of the "
                              "last one; if no view was lost, the list is right");
}

enum ts_status ts_tiff_angles(const struct param_set *set, const struct tiff_pages *pages,
                              struct ts_axis *axis, struct ts_diag *diag)
{
    const struct tiff_params *params = set->values;
    const bool list = ts_param_given(set, "angles"), file = ts_param_given(set, "angles_file"),
               range = ts_param_given(set, "angle_start") || ts_param_given(set, "angle_stop");
    if (list + file + range != 1) {
        if (list + file + range > 0)
            ts_param_error(set, "angles", "angles-twice", diag,
                           "the angles of the views are given in %d ways, expected exactly one",
                           list + file + range);
        else
            ts_param_error(set, "angles", "angles-missing", diag,
                           "the angles of the views are not given, and no TIFF file holds them");
        return ts_diag_hint(
            diag, "angles: [...], or angles_file: PATH, or angle_start and angle_stop; in degrees. "
                  "frames: flats or darks have none, and neither have pages: slices");
    }
    if (ts_param_given(set, "angle_unit") && list)
        return ts_param_error(set, "angle_unit", "angle-unit-idle", diag,
                              "belongs to angles_file, or to angle_start and angle_stop; a list of "
                              "angles is in degrees");
    if (ts_param_given(set, "endpoint") && !range)
        return ts_param_error(set, "endpoint", "endpoint-idle", diag,
                              "belongs to angle_start and angle_stop");
    if (ts_param_given(set, "gaps") && !range)
        return ts_param_error(set, "gaps", "gaps-idle", diag,
                              "belongs to angle_start and angle_stop");
    axis->positions = NULL;
    enum ts_status status;
    if (list)
        status = angles_from_list(set, pages->arena, axis, diag);
    else
        status = file ? angles_from_file(set, pages->arena, axis, diag)
                      : angles_from_range(set, pages, axis, diag);
    bool told = false;
    if (status != TS_OK || params->pages != TIFF_VIEWS)
        return status;
    status = ts_tiff_check_named(pages, axis, !range, &told, diag);
    return status == TS_OK && !told && !range ? warn_of_even_list(pages, axis, diag) : status;
}

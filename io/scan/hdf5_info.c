/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage info FILE`: describes the scan in a file, if there is one, and lists the file, as text
 * or as one JSON object. A child lists the file; this process prints, and escapes every text of the
 * child, so that a file that has taken over the child can neither control the terminal nor claim to
 * be complete.
 */
#include "io/scan/hdf5_info.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/json.h"
#include "core/number.h"
#include "core/path.h"
#include "io/hdf5/hdf5_list.h"
#include "io/hdf5/hdf5_session.h"
#include "io/hdf5/hdf5_verify.h"
#include "io/scan/exchange.h"
#include "io/scan/hdf5_source.h"
#include "io/scan/nexus.h"
#include "io/scan/projections.h"
#include "io/scan/result_warnings.h"
#include "io/scan/scan_field.h"
#include "io/source/angle_unit.h"
#include "io/source/try_text.h"

/* The listing shows whether a file is a scan. The source that a chain would use then describes it,
 * so `info` and `run` agree. */
enum scan_format { SCAN_NONE, SCAN_NXTOMO, SCAN_EXCHANGE };
/* Texts are "" if there are none. */
struct hdf5_scan {
    enum scan_format format;
    /* why a chain could not read the file as it is; then the following is not known. "": it can */
    char refused[1024];
    int64_t n_projections, n_flats, n_darks, n_invalid, n_alignment;
    int64_t rows, columns;    /* size of the detector */
    double row_mm, column_mm; /* distances of neighboring rows and columns; 0: not in the file */
    double low, high;         /* range of the angles, in degrees */
    char angle_unit[256];     /* as the file names it */
    bool half;                /* the field of view is half of the object */
    char rotation_column[64]; /* position of the rotation axis, in columns */
};

/* Returns the first dataset whose path ends so, and whose value is this text if one is given. */
static const struct hdf5_listed *find_listed(const struct hdf5_listing *listing, const char *ending,
                                             const char *value)
{
    for (const struct hdf5_listed *entry = listing->objects; entry; entry = entry->next)
        if (entry->kind == HDF5_DATASET && ts_ends_in(entry->path, ending) &&
            (!value || (entry->value && !strcmp(entry->value, value))))
            return entry;
    return NULL;
}

static int64_t count_frames(const struct hdf5_listing *listing, const char *path)
{
    const struct hdf5_listed *entry = find_listed(listing, path, NULL);
    return !entry ? 0 : entry->rank == 2 ? 1 : entry->rank == 3 ? (int64_t)entry->n[0] : 0;
}

/* Finds out from the listing if the file is a scan. A result of this program counts only if it is
   NXtomo. */
static void hdf5_scan_look(const struct hdf5_listing *listing, struct hdf5_scan *scan)
{
    const bool nexus = find_listed(listing, "/definition", "NXtomo") != NULL;
    *scan = (struct hdf5_scan){0};
    if (!nexus && (listing->ours || !find_listed(listing, "/exchange/data", NULL)))
        return;
    scan->format = nexus ? SCAN_NXTOMO : SCAN_EXCHANGE;
    const struct hdf5_listed *angles =
        find_listed(listing, nexus ? "/rotation_angle" : "/exchange/theta", NULL);
    snprintf(scan->angle_unit, sizeof scan->angle_unit, "%s",
             angles && angles->units ? angles->units : "");
    scan->n_flats = count_frames(listing, "/exchange/data_white");
    scan->n_darks = count_frames(listing, "/exchange/data_dark");
}

static void describe_source(const struct source *source, struct hdf5_scan *scan)
{
    const struct ts_axis *axes = source->image.axes;
    scan->rows = axes[0].n;
    scan->n_projections = axes[1].n;
    scan->columns = axes[2].n;
    scan->row_mm = strcmp(axes[0].unit, "mm") ? 0 : axes[0].spacing;
    scan->column_mm = strcmp(axes[2].unit, "mm") ? 0 : axes[2].spacing;
    scan->low = INFINITY;
    scan->high = -INFINITY;
    for (int64_t i = 0; axes[1].positions && i < axes[1].n; i++) {
        scan->low = fmin(scan->low, axes[1].positions[i]);
        scan->high = fmax(scan->high, axes[1].positions[i]);
    }
    for (size_t i = 0; i < source->n_attributes; i++) {
        const struct source_attribute *attribute = &source->attributes[i];
        if (!strcmp(attribute->name, "x_rotation_axis_pixel_position"))
            snprintf(scan->rotation_column, sizeof scan->rotation_column, "%s", attribute->value);
        scan->half |=
            !strcmp(attribute->name, "field_of_view") && !strcmp(attribute->value, "Half");
        if (!strcmp(attribute->name, "frames_in_file"))
            sscanf(attribute->value, TS_FRAMES_IN_FILE_SCAN, &scan->n_projections, &scan->n_flats,
                   &scan->n_darks, &scan->n_invalid, &scan->n_alignment);
    }
}

/* Opens the source that a chain with these parameters would open. If the file is refused, *source
   stays NULL, `refused` says why, and TS_OK is returned; TS_RUN_FAILED means that this could not be
   decided. */
static enum ts_status hdf5_scan_try(const struct source_format *format, struct param_set *set,
                                    struct source **source, char *refused, size_t size,
                                    struct ts_diag *diag)
{
    struct ts_diag *found = ts_diag_create();
    *refused = '\0';
    if (!found)
        return ts_diag_no_memory(diag, sizeof *set);
    enum ts_status status = format->open(set, source, found);
    const char *reason = ts_diag_first_error(found);
    reason = reason ? reason : "it cannot be read";
    if (status == TS_RUN_FAILED) /* not a fault of the file */
        ts_diag_error(diag, status, &(struct diag_site){.code = "scan-not-read"}, "%s", reason);
    else if (status != TS_OK)
        snprintf(refused, size, "%s", reason);
    else
        ts_diag_append(diag, found); /* warnings and notes */
    ts_diag_destroy(found);
    return status == TS_RUN_FAILED ? status : TS_OK;
}

/* Opens the scan as an input of which only the path is given; reads no pixels. */
static enum ts_status hdf5_scan_open(const char *path, struct hdf5_scan *scan, struct ts_diag *diag)
{
    union {
        struct nexus_params nexus;
        struct exchange_params exchange;
    } values = {0};
    const bool nexus = scan->format == SCAN_NXTOMO;
    const struct source_format *format = nexus ? &nexus_format : &exchange_format;
    struct param_set set = {.params = format->params,
                            .n_params = format->n_params,
                            .values = &values,
                            .owner = "input"};
    struct source *source = NULL;
    if (scan->format == SCAN_NONE)
        return TS_OK;
    ts_params_init(&set);
    *(nexus ? &values.nexus.nexus : &values.exchange.exchange) = path;
    const enum ts_status status =
        hdf5_scan_try(format, &set, &source, scan->refused, sizeof scan->refused, diag);
    if (source) {
        describe_source(source, scan);
        source->ops->close(source);
    }
    return status;
}

static void hdf5_scan_print(const struct hdf5_scan *scan, FILE *stream)
{
    if (*scan->refused) {
        ts_text_print(stream, "  as an input it is refused: ", scan->refused);
        fputc('\n', stream);
        return;
    }
    fprintf(stream, "  frames: %" PRId64 " projections, %" PRId64 " flats, %" PRId64 " darks",
            scan->n_projections, scan->n_flats, scan->n_darks);
    if (scan->n_invalid)
        fprintf(stream, ", %" PRId64 " invalid", scan->n_invalid);
    if (scan->n_alignment)
        fprintf(stream, ", %" PRId64 " alignment (left out)", scan->n_alignment);
    fprintf(stream, "\n  detector: %" PRId64 " rows of %" PRId64 " pixels, ", scan->rows,
            scan->columns);
    if (scan->row_mm > 0)
        fprintf(stream, "%.9g mm apart, the pixels %.9g mm\n", scan->row_mm, scan->column_mm);
    else
        fputs("their size is not in the file\n", stream);
    fprintf(stream, "  angles: %.9g to %.9g degree", scan->low, scan->high);
    ts_text_print(stream, ", unit in the file: ", *scan->angle_unit ? scan->angle_unit : "none");
    if (*scan->rotation_column)
        ts_text_print(stream, "\n  rotation axis: x_rotation_axis_pixel_position ",
                      scan->rotation_column);
    fputs(scan->half ? "\n  field of view: half of the object\n" : "\n", stream);
}

static void hdf5_scan_json(const struct hdf5_scan *scan, struct json *json)
{
    ts_json_open(json, '{');
    ts_json_member_text(json, "format", scan->format == SCAN_NXTOMO ? "NXtomo" : "Data Exchange");
    if (*scan->refused) {
        ts_json_member_text(json, "refused", scan->refused);
    } else {
        ts_json_member_integer(json, "projections", scan->n_projections);
        ts_json_member_integer(json, "flats", scan->n_flats);
        ts_json_member_integer(json, "darks", scan->n_darks);
        ts_json_member_integer(json, "invalid", scan->n_invalid);
        ts_json_member_integer(json, "alignment", scan->n_alignment);
        ts_json_member_integer(json, "detector_rows", scan->rows);
        ts_json_member_integer(json, "detector_columns", scan->columns);
        ts_json_member_real(json, "row_distance_mm", scan->row_mm > 0 ? scan->row_mm : NAN);
        ts_json_member_real(json, "column_distance_mm",
                            scan->column_mm > 0 ? scan->column_mm : NAN);
        ts_json_member_real(json, "lowest_angle_degree", scan->low);
        ts_json_member_real(json, "highest_angle_degree", scan->high);
        ts_json_member_text(json, "angle_unit", *scan->angle_unit ? scan->angle_unit : NULL);
        ts_json_member_bool(json, "half_field_of_view", scan->half);
        ts_json_member_text(json, "x_rotation_axis_pixel_position",
                            *scan->rotation_column ? scan->rotation_column : NULL);
    }
    ts_json_close(json, '}');
}

/* ---- the guess ------------------------------------------------------------------------------- */

/* Beamlines write scans under names of their own. The frames are most likely the largest dataset
   with three axes; a dataset with one number for each frame and a name with "key" or "angle" in it
   belongs to them. This guess is only shown, and no chain uses it: a wrong guess would silently
   reconstruct something wrong. */

/* Paths of datasets of the listing, which holds the texts; NULL: none was found. */
struct hdf5_guess {
    const struct hdf5_listed *data; /* the largest dataset with three axes of numbers */
    const char *image_key, *angles; /* with one value for each of its first axis */
    bool has_unit;                  /* the file names the unit of the angles */
    double pixel_mm; /* the size in all datasets that are named a pixel size; 0: there is none, or
                        they differ */
    char refused[1024]; /* why a chain cannot read the data; "": it can */
};

static bool is_numeric(const struct hdf5_listed *entry)
{
    const char *type = entry->type;
    return entry->kind == HDF5_DATASET && type && *type && strchr("iuf", *type) &&
           isdigit((unsigned char)type[1]);
}

static double count_of(const struct hdf5_listed *entry)
{
    double count = 1;
    for (int d = 0; d < entry->rank; d++)
        count *= (double)entry->n[d];
    return count;
}

/* Returns the first dataset of n numbers whose last name contains one of these words. */
static const struct hdf5_listed *find_named(const struct hdf5_listing *listing, hsize_t n,
                                            const char *const *words)
{
    for (const struct hdf5_listed *entry = listing->objects; entry; entry = entry->next) {
        const char *name = strrchr(entry->path, '/');
        if (!is_numeric(entry) || entry->rank != 1 || entry->n[0] != n)
            continue;
        for (const char *const *word = words; *word; word++)
            if (strcasestr(name ? name : entry->path, *word))
                return entry;
    }
    return NULL;
}

/* Returns the size in mm that all datasets with "pixel_size" in their names state; 0 if there is
   none, or if they differ. */
static double find_pixel_size(const struct hdf5_listing *listing)
{
    double found = 0;
    for (const struct hdf5_listed *entry = listing->objects; entry; entry = entry->next) {
        const char *name = strrchr(entry->path, '/');
        if (!strcasestr(name ? name : entry->path, "pixel_size") || !entry->value || !entry->units)
            continue;
        const double mm = strtod(entry->value, NULL) * ts_scan_field_mm(entry->units);
        if (!(mm > 0) || (found > 0 && mm != found))
            return 0;
        found = mm;
    }
    return found;
}

/* Returns the next smaller dataset after another one (NULL: the largest); NULL if none is left. */
static const struct hdf5_listed *next_data(const struct hdf5_listing *listing,
                                           const struct hdf5_listed *last)
{
    const struct hdf5_listed *next = NULL;
    bool behind = !last;
    for (const struct hdf5_listed *entry = listing->objects; entry; entry = entry->next) {
        const double count = count_of(entry);
        const bool follows = !last || count < count_of(last) || (behind && count == count_of(last));
        behind |= entry == last;
        if (is_numeric(entry) && entry->rank == 3 && follows && (!next || count > count_of(next)))
            next = entry;
    }
    return next;
}

/* Opens the dataset as a volume, which needs nothing else of the file. */
static enum ts_status try_data(const struct hdf5_listed *data, const char *path, char *refused,
                               size_t size, struct ts_diag *diag)
{
    static const char *const axes[] = {"z", "y", "x"};
    struct hdf5_params values = {0};
    struct param_set set = {.params = hdf5_format.params,
                            .n_params = hdf5_format.n_params,
                            .values = &values,
                            .owner = "input"};
    struct source *source = NULL;
    ts_params_init(&set);
    values.hdf5 = path;
    values.path = data->path;
    values.axes = (struct ts_texts){.items = axes, .n = 3};
    const enum ts_status status = hdf5_scan_try(&hdf5_format, &set, &source, refused, size, diag);
    if (source)
        source->ops->close(source);
    return status;
}

/* Every try starts a process, so only a few of many datasets are tried. */
static enum ts_status find_data(const struct hdf5_listing *listing, const char *path,
                                struct hdf5_guess *guess, struct ts_diag *diag)
{
    enum { TRIES = 8 };
    char refused[sizeof guess->refused];
    const struct hdf5_listed *data = NULL;
    for (int i = 0; i < TRIES && (data = next_data(listing, data)); i++) {
        const enum ts_status status = try_data(data, path, refused, sizeof refused, diag);
        if (status != TS_OK)
            return status;
        if (i == 0 || !*refused) {
            guess->data = data;
            memcpy(guess->refused, refused, sizeof refused);
        }
        if (!*refused)
            break;
    }
    return TS_OK;
}

/* Makes the guess. Opens the data as a chain would; if they are refused, tries smaller ones; if all
   are, the guess has the largest, and why it is refused. Reads no pixels. TS_RUN_FAILED: a failure
   that is not the file's (reported). */
static enum ts_status make_guess(const struct hdf5_listing *listing, const char *path,
                                 struct hdf5_guess *guess, struct ts_diag *diag)
{
    static const char *const keys[] = {"image_key", "imagekey", "frame_type", NULL};
    static const char *const angles[] = {"angle", "theta", "rotation", "omega", NULL};
    *guess = (struct hdf5_guess){0};
    const enum ts_status status = find_data(listing, path, guess, diag);
    if (status != TS_OK || !guess->data)
        return status;
    const struct hdf5_listed *key = find_named(listing, guess->data->n[0], keys);
    const struct hdf5_listed *angle = find_named(listing, guess->data->n[0], angles);
    guess->image_key = key ? key->path : NULL;
    guess->angles = angle ? angle->path : NULL;
    guess->pixel_mm = find_pixel_size(listing);
    guess->has_unit = angle && angle->units && ts_angle_unit_of(angle->units) != ANGLE_UNIT_FILE;
    return TS_OK;
}

static void print_word(FILE *stream, const char *before, const char *text)
{
    fputs(before, stream);
    ts_try_word(stream, text);
}

/* Returns true if the frames may be the counts of a detector: floats have been corrected, and
   signed integers may have been. */
static bool may_be_counts(const struct hdf5_guess *guess)
{
    return *guess->data->type == 'u';
}

/* Writes the input to try, as it is in a chain on one line. */
static void print_input(const struct hdf5_guess *guess, const char *path, FILE *stream)
{
    print_word(stream, guess->image_key ? "nexus " : "hdf5 ", path);
    print_word(stream, guess->image_key ? " data=" : " path=", guess->data->path);
    if (guess->image_key)
        print_word(stream, " image_key=", guess->image_key);
    else
        fprintf(stream, " axes=%s", guess->angles ? "view,z,detector" : "z,y,x");
    if (guess->angles)
        print_word(stream, " angles=", guess->angles);
    if (guess->angles && !guess->has_unit)
        fputs(" angle_unit=degree", stream);
    if (guess->pixel_mm > 0 && guess->image_key)
        fprintf(stream, " pixel_size=%.9g", guess->pixel_mm);
    else if (guess->pixel_mm > 0 && guess->angles)
        fprintf(stream, " spacing=%.9g,%.9g", guess->pixel_mm, guess->pixel_mm);
    if (guess->angles && !guess->image_key && may_be_counts(guess))
        fputs(" quantity=counts", stream);
}

/* Writes what the file does not state, so that the reader may have to change it in the input. */
static void print_doubts(const struct hdf5_guess *guess, FILE *stream)
{
    if (guess->angles && !guess->has_unit)
        fputs("   (or radian: the file does not say)", stream);
    if (guess->angles && !may_be_counts(guess))
        fprintf(stream,
                "\n  the values are %s, and the file does not say of what: add "
                "quantity=transmission or quantity=line_integral if they are",
                *guess->data->type == 'f' ? "floats" : "signed integers");
}

/* Prints what the file looks like, and the input to try or why there is none; nothing if there are
   no data. */
static void print_guess(const struct hdf5_guess *guess, const char *path, FILE *stream)
{
    if (!guess->data)
        return;
    fprintf(stream, "  looks like a %s:", guess->image_key || guess->angles ? "scan" : "volume");
    ts_text_print(stream, " data at ", guess->data->path);
    if (guess->image_key)
        ts_text_print(stream, ", image_key at ", guess->image_key);
    if (guess->angles)
        ts_text_print(stream, ", angles at ", guess->angles);
    if (*guess->refused) {
        ts_text_print(stream, "\n  as an input it is refused: ", guess->refused);
        fputc('\n', stream);
        return;
    }
    fputs("\n  try: ", stream);
    char *input = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&input, &length);
    if (text)
        print_input(guess, path, text);
    if (text && fclose(text) == 0)
        ts_try_command(stream, input);
    free(input);
    print_doubts(guess, stream);
    fputc('\n', stream);
}

static void guess_json(const struct hdf5_guess *guess, struct json *json)
{
    ts_json_open(json, '{');
    ts_json_member_text(json, "data", guess->data ? guess->data->path : NULL);
    ts_json_member_text(json, "image_key", guess->image_key);
    ts_json_member_text(json, "angles", guess->angles);
    if (*guess->refused)
        ts_json_member_text(json, "refused", guess->refused);
    ts_json_close(json, '}');
}

/* ---- text and JSON --------------------------------------------------------------------------- */

static void print_dataset(const struct hdf5_listed *entry, FILE *stream)
{
    char stored[32];
    ts_text_print(stream, "  ", entry->type ? entry->type : "?");
    for (int d = 0; d < entry->rank; d++)
        fprintf(stream, "%s%llu", d ? " x " : "  ", (unsigned long long)entry->n[d]);
    if (entry->units)
        ts_text_print(stream, "  ", entry->units);
    if (entry->quantity)
        ts_text_print(stream, "  ", entry->quantity);
    if (entry->value) {
        ts_text_print(stream, "  = ", entry->value);
        return;
    }
    ts_bytes_format(stored, sizeof stored, (double)entry->stored_bytes);
    ts_text_print(stream, "  ", entry->storage);
    fprintf(stream, ", %s", stored);
}

static void print_process(const struct hdf5_process *process, FILE *stream)
{
    fprintf(stream, "%4lld", process->index);
    ts_text_print(stream, "  ", process->program ? process->program : process->path);
    ts_text_print(stream, " ", process->version ? process->version : "");
    for (const struct hdf5_member *member = process->parameters; member; member = member->next) {
        ts_text_print(stream, "\n        ", member->name);
        ts_text_print(stream, ": ", member->value);
    }
    fputc('\n', stream);
}

static void print_warnings(const struct result_warnings *warnings, FILE *stream)
{
    if (warnings->n > 0)
        fprintf(stream, "\nThe run warned:\n");
    for (size_t i = 0; i < warnings->n; i++) {
        ts_text_print(stream, "  ", warnings->texts[i]);
        fputc('\n', stream);
    }
}

/* What is known of a file besides its listing. */
struct findings {
    struct hdf5_scan scan;
    struct hdf5_guess guess; /* of a file that is neither ours nor a scan */
    struct result_warnings warnings;
};

static void print_text(const struct hdf5_listing *listing, const struct findings *findings,
                       const char *path, const char *state, FILE *stream)
{
    static const char *const kinds[] = {"group",
                                        "dataset",
                                        "named type",
                                        "soft link, not followed",
                                        "external link, not followed",
                                        "link of unknown kind, not followed",
                                        "another name of an object above"};
    ts_text_print(stream, "", path);
    fprintf(stream, "\n  %s\n", state);
    if (findings->scan.format != SCAN_NONE)
        hdf5_scan_print(&findings->scan, stream);
    else
        print_guess(&findings->guess, path, stream);
    fputc('\n', stream);
    for (const struct hdf5_listed *entry = listing->objects; entry; entry = entry->next) {
        ts_text_print(stream, "", entry->path);
        if (entry->kind == HDF5_DATASET)
            print_dataset(entry, stream);
        else
            fprintf(stream, "  %s", kinds[entry->kind]);
        if (entry->kind != HDF5_DATASET && entry->target)
            ts_text_print(stream, " to ", entry->target);
        fputc('\n', stream);
    }
    if (listing->processes)
        fprintf(stream, "\nHow it was made:\n");
    /* The only process of ours without a place is the scanner's own reconstruction, of which
     * nothing is known. */
    for (const struct hdf5_process *process = listing->processes; process; process = process->next)
        if (process->index > 0 || !listing->ours)
            print_process(process, stream);
    print_warnings(&findings->warnings, stream);
}

/* Numbers as value_text writes them: one, or a list in brackets. Lists of texts stay one
 * text. */
static void json_value(struct json *json, const char *value, bool text)
{
    const bool list = *value == '[';
    if (text) {
        ts_json_text(json, value);
        return;
    }
    if (list)
        ts_json_open(json, '[');
    /* Writes a number, or several of them in brackets. Whatever the child sends, the JSON is well
     * formed. */
    const char *at = value + list;
    for (bool more = !list || (*at && *at != ']'); more; more = list && *at && *at != ']') {
        char *end;
        const size_t length = strcspn(at, ",]");
        if (*at == 'n') /* null */
            ts_json_real(json, NAN);
        else if (memchr(at, '.', length) || memchr(at, 'e', length))
            ts_json_real(json, strtod(at, &end));
        else
            ts_json_integer(json, strtoll(at, &end, 10));
        at += length;
        at += strspn(at, ", ");
    }
    if (list)
        ts_json_close(json, ']');
}

static void json_known(struct json *json, const char *key, const char *text)
{
    if (text)
        ts_json_member_text(json, key, text);
}

static void json_object(struct json *json, const struct hdf5_listed *entry)
{
    static const char *const kinds[] = {"group",         "dataset",    "type", "soft-link",
                                        "external-link", "other-link", "link"};
    ts_json_open(json, '{');
    ts_json_member_text(json, "kind", kinds[entry->kind]);
    ts_json_member_text(json, "path", entry->path);
    json_known(json, "target", entry->target);
    json_known(json, "dtype", entry->type);
    if (entry->kind == HDF5_DATASET) {
        ts_json_open_member(json, "shape", '[');
        for (int d = 0; d < entry->rank; d++)
            ts_json_integer(json, (int64_t)entry->n[d]);
        ts_json_close(json, ']');
        ts_json_member_integer(json, "stored_bytes", (int64_t)entry->stored_bytes);
    }
    json_known(json, "units", entry->units);
    json_known(json, "quantity", entry->quantity);
    json_known(json, "storage", entry->storage);
    json_known(json, "sha256", entry->sha256);
    json_known(json, "sha256_tree", entry->sha256_tree);
    if (entry->value) {
        ts_json_key(json, "value");
        json_value(json, entry->value, entry->value_is_text);
    }
    ts_json_close(json, '}');
}

static void json_process(struct json *json, const struct hdf5_process *process)
{
    ts_json_open(json, '{');
    ts_json_member_integer(json, "sequence_index", process->index);
    ts_json_member_text(json, "path", process->path);
    json_known(json, "program", process->program);
    json_known(json, "version", process->version);
    ts_json_open_member(json, "parameters", '{');
    for (const struct hdf5_member *member = process->parameters; member; member = member->next) {
        ts_json_key(json, member->name);
        json_value(json, member->value, member->text);
    }
    ts_json_close(json, '}');
    ts_json_close(json, '}');
}

static void print_json(const struct hdf5_listing *listing, const struct findings *findings,
                       const char *path, const char *state, FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, false);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "file", path);
    ts_json_member_text(&json, "state", state);
    if (findings->scan.format != SCAN_NONE) {
        ts_json_key(&json, "scan");
        hdf5_scan_json(&findings->scan, &json);
    } else if (!listing->ours) {
        ts_json_key(&json, "looks_like");
        guess_json(&findings->guess, &json);
    }
    ts_json_open_member(&json, "objects", '[');
    for (const struct hdf5_listed *entry = listing->objects; entry; entry = entry->next)
        json_object(&json, entry);
    ts_json_close(&json, ']');
    ts_json_open_member(&json, "processes", '[');
    for (const struct hdf5_process *process = listing->processes; process; process = process->next)
        json_process(&json, process);
    ts_json_close(&json, ']');
    ts_json_open_member(&json, "warnings", '[');
    for (size_t i = 0; i < findings->warnings.n; i++)
        ts_json_text(&json, findings->warnings.texts[i]);
    ts_json_close(&json, ']');
    ts_json_close(&json, '}');
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Has a child list the file. *answer keeps the texts. */
static enum ts_status list(struct hdf5_session *session, void **answer,
                           struct hdf5_listing *listing, bool *whole, struct ts_diag *diag)
{
    size_t bytes;
    enum ts_status status =
        ts_hdf5_session_call(session, ts_hdf5_task_list, NULL, 0, answer, &bytes, diag);
    if (status != TS_OK)
        return status;
    status = ts_hdf5_list_take(*answer, bytes, listing, whole);
    if (status == TS_BAD_INPUT)
        (void)ts_hdf5_session_wrong_answer(session, diag);
    else if (status != TS_OK)
        (void)ts_diag_no_memory(diag, sizeof(struct hdf5_listed));
    return status;
}

/* Leaves the values of texts out. Those that this program wrote, and nobody has changed, name
 * nobody. */
static void leave_texts_out(struct hdf5_listing *listing)
{
    for (struct hdf5_listed *entry = listing->objects; entry; entry = entry->next)
        if (entry->value_is_text)
            entry->value = NULL;
    for (struct hdf5_process *process = listing->processes; process; process = process->next)
        for (struct hdf5_member **member = &process->parameters; *member;)
            if ((*member)->text)
                *member = (*member)->next;
            else
                member = &(*member)->next;
}

/* Returns true if the newest error is one of the file, not of reading it or of this process. */
static bool blames_file(const struct ts_diag *diag)
{
    const size_t n = ts_diag_count(diag);
    return n > 0 && strcmp(ts_diag_get(diag, n - 1)->code, "hdf5-damaged") == 0;
}

/* Returns the text of the first line about the file. */
static const char *name_state(const struct hdf5_listing *listing, bool whole,
                              enum ts_status verified, const struct hdf5_scan *scan,
                              const struct ts_diag *diag)
{
    if (!whole || verified != TS_OK)
        return blames_file(diag) ? "damaged or not complete"
                                 : "not checked to its end, for the reason given below";
    if (listing->ours)
        return "complete, all digests right";
    return scan->format == SCAN_NXTOMO ? "a scan in NXtomo"
           : scan->format == SCAN_EXCHANGE
               ? "a scan in Data Exchange"
               : "not a file of this program, or one that was never finished";
}

/* Describes the scan, also one that this program wrote. In files of other programs it looks for
   data that may be a scan. */
static enum ts_status look(const struct hdf5_listing *listing, const char *path,
                           struct findings *findings, struct ts_diag *diag)
{
    hdf5_scan_look(listing, &findings->scan);
    if (findings->scan.format != SCAN_NONE)
        return hdf5_scan_open(path, &findings->scan, diag);
    return listing->ours ? TS_OK : make_guess(listing, path, &findings->guess, diag);
}

/* Refuses a file in which nothing can be an input, unless there is more in it than was listed. */
static enum ts_status check_use(const struct hdf5_listing *listing, const struct findings *findings,
                                const char *path, struct ts_diag *diag)
{
    const struct hdf5_guess *guess = &findings->guess;
    const struct diag_site site = {.code = "hdf5-no-input"};
    if (listing->ours || findings->scan.format != SCAN_NONE || (guess->data && !*guess->refused))
        return TS_OK;
    if (guess->data)
        return ts_diag_error(diag, TS_BAD_INPUT, &site, "%s", guess->refused);
    if (listing->cut)
        return TS_OK;
    return ts_diag_error(diag, TS_BAD_INPUT, &site,
                         "%s holds no dataset of numbers with three axes", path);
}

static enum ts_status describe(struct hdf5_session *session, int fd, const char *path, bool json,
                               bool names, struct hdf5_listing *listing, void **answer,
                               FILE *stream, struct ts_diag *diag)
{
    struct findings findings = {0};
    bool whole = false;
    enum ts_status verified = TS_OK, status = list(session, answer, listing, &whole, diag);
    if (status != TS_OK)
        return status;
    if (whole && listing->ours) {
        verified = ts_hdf5_verify_open(session, fd, path, NULL, diag);
        if (verified == TS_OK)
            status = ts_result_warnings(path, listing->arena, &findings.warnings, diag);
    }
    if (status == TS_OK && verified == TS_OK)
        status = look(listing, path, &findings, diag);
    const char *state = name_state(listing, whole, verified, &findings.scan, diag);
    if (status != TS_OK)
        return verified != TS_OK ? verified : status;
    if (!names && (!listing->ours || !whole || verified != TS_OK))
        leave_texts_out(listing);
    if (listing->any && json)
        print_json(listing, &findings, path, state, stream);
    else if (listing->any)
        print_text(listing, &findings, path, state, stream);
    if (verified != TS_OK || !whole)
        return verified != TS_OK ? verified : TS_BAD_INPUT;
    return check_use(listing, &findings, path, diag);
}

enum ts_status ts_hdf5_info(const char *path, bool json, bool names, FILE *stream,
                            struct ts_diag *diag)
{
    struct hdf5_listing listing = {.arena = ts_arena_create()};
    struct hdf5_session *session;
    void *answer = NULL;
    int fd;
    if (!listing.arena)
        return ts_diag_no_memory(diag, sizeof listing);
    enum ts_status status =
        ts_hdf5_session_open(&(struct hdf5_session_options){.path = path}, &session, &fd, diag);
    if (status == TS_OK) {
        status = describe(session, fd, path, json, names, &listing, &answer, stream, diag);
        close(fd);
    }
    ts_hdf5_session_end(session);
    free(answer);
    ts_arena_destroy(listing.arena);
    return status;
}

const char *ts_hdf5_format(const char *path)
{
    static const char *const scans[] = {[SCAN_NXTOMO] = "nexus", [SCAN_EXCHANGE] = "exchange"};
    struct ts_diag *diag = ts_diag_create();
    struct hdf5_listing listing = {.arena = ts_arena_create()};
    struct hdf5_session *session = NULL;
    struct hdf5_scan scan = {0};
    void *answer = NULL;
    bool whole = false;
    if (diag && listing.arena &&
        ts_hdf5_session_open(&(struct hdf5_session_options){.path = path}, &session, NULL, diag) ==
            TS_OK &&
        list(session, &answer, &listing, &whole, diag) == TS_OK)
        hdf5_scan_look(&listing, &scan);
    const char *format = scan.format != SCAN_NONE ? scans[scan.format]
                         : whole && !listing.ours ? "hdf5"
                                                  : "result";
    ts_hdf5_session_end(session);
    free(answer);
    ts_arena_destroy(listing.arena);
    ts_diag_destroy(diag);
    return format;
}

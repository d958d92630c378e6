/* SPDX-License-Identifier: Apache-2.0
 *
 * Beamlines write scans under names of their own. The frames are most likely the largest dataset with three axes; a
 * dataset with one number for each frame whose name speaks of keys or angles belongs to them. This is shown as a guess
 * and read by no chain: a wrong guess would reconstruct the wrong thing without a word.
 */
#include "io/scan/hdf5_guess.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/scan/hdf5_scan.h"
#include "io/scan/hdf5_source.h"
#include "io/scan/scan_field.h"
#include "io/source/angle_unit.h"
#include "io/source/try_text.h"

static bool is_numeric(const struct hdf5_listed *entry)
{
    const char *type = entry->type;
    return entry->kind == HDF5_DATASET && type && *type && strchr("iuf", *type) && isdigit((unsigned char)type[1]);
}

static double count_of(const struct hdf5_listed *entry)
{
    double count = 1;
    for (int d = 0; d < entry->rank; d++)
        count *= (double)entry->n[d];
    return count;
}

/* Returns the first dataset of n numbers whose last name has one of these words in it. */
static const struct hdf5_listed *find_named(const struct hdf5_listing *listing, hsize_t n, const char *const *words)
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

/* Returns the size in mm that all datasets with "pixel_size" in their names have; 0 where there is none, or another. */
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

/* Returns the dataset that comes next after another one (NULL: first) where larger ones come first; NULL: none. */
static const struct hdf5_listed *next_data(const struct hdf5_listing *listing, const struct hdf5_listed *last)
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
static enum ts_status try_data(const struct hdf5_listed *data, const char *path, char *refused, size_t size,
                               struct ts_diag *diag)
{
    static const char *const axes[] = {"z", "y", "x"};
    struct hdf5_params values = {0};
    struct param_set set = {
        .params = hdf5_format.params, .n_params = hdf5_format.n_params, .values = &values, .owner = "input"};
    struct source *source = NULL;
    ts_params_init(&set);
    values.hdf5 = path;
    values.path = data->path;
    values.axes = (struct ts_texts){.items = axes, .n = 3};
    const enum ts_status status = ts_hdf5_scan_try(&hdf5_format, &set, &source, refused, size, diag);
    if (source)
        source->ops->close(source);
    return status;
}

/* Every try starts a process, so that a file of many datasets gets a few of them. */
static enum ts_status find_data(const struct hdf5_listing *listing, const char *path, struct hdf5_guess *guess,
                                struct ts_diag *diag)
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

enum ts_status ts_hdf5_guess(const struct hdf5_listing *listing, const char *path, struct hdf5_guess *guess,
                             struct ts_diag *diag)
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

/* Returns true where the frames may be what a detector counted: floats have been corrected, and signed integers may
 * have been. */
static bool may_be_counts(const struct hdf5_guess *guess)
{
    return *guess->data->type == 'u';
}

/* Writes the input to try, as it stands in a chain on one line. */
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

/* Writes what the file does not say, and the reader may have to change in the input. */
static void print_doubts(const struct hdf5_guess *guess, FILE *stream)
{
    if (guess->angles && !guess->has_unit)
        fputs("   (or radian: the file does not say)", stream);
    if (guess->angles && !may_be_counts(guess))
        fprintf(stream,
                "\n  the values are %s, and the file does not say of what: add quantity=transmission or "
                "quantity=line_integral if they are",
                *guess->data->type == 'f' ? "floats" : "signed integers");
}

void ts_hdf5_guess_print(const struct hdf5_guess *guess, const char *path, FILE *stream)
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

void ts_hdf5_guess_json(const struct hdf5_guess *guess, struct json *json)
{
    ts_json_open(json, '{');
    ts_json_member_text(json, "data", guess->data ? guess->data->path : NULL);
    ts_json_member_text(json, "image_key", guess->image_key);
    ts_json_member_text(json, "angles", guess->angles);
    if (*guess->refused)
        ts_json_member_text(json, "refused", guess->refused);
    ts_json_close(json, '}');
}

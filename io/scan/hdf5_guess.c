/* SPDX-License-Identifier: Apache-2.0
 *
 * Beamlines write scans under names of their own. The frames are most likely the largest dataset with three axes; a
 * dataset with one number for each frame whose name speaks of keys or angles belongs to them. This is shown as a guess
 * and read by no chain: a wrong guess would reconstruct the wrong thing without a word.
 */
#include "io/scan/hdf5_guess.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "io/source/angle_unit.h"

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

struct hdf5_guess ts_hdf5_guess(const struct hdf5_listing *listing)
{
    static const char *const keys[] = {"image_key", "imagekey", "frame_type", NULL};
    static const char *const angles[] = {"angle", "theta", "rotation", "omega", NULL};
    struct hdf5_guess guess = {0};
    for (const struct hdf5_listed *entry = listing->objects; entry; entry = entry->next)
        if (is_numeric(entry) && entry->rank == 3 && count_of(entry) > (guess.data ? count_of(guess.data) : 0))
            guess.data = entry;
    if (guess.data) {
        const struct hdf5_listed *key = find_named(listing, guess.data->n[0], keys);
        const struct hdf5_listed *angle = find_named(listing, guess.data->n[0], angles);
        guess.image_key = key ? key->path : NULL;
        guess.angles = angle ? angle->path : NULL;
        guess.has_unit = angle && angle->units && ts_angle_unit_of(angle->units) != ANGLE_UNIT_FILE;
    }
    return guess;
}

/* Writes the input to try, as it stands in a chain on one line. */
static void print_input(const struct hdf5_guess *guess, const char *path, FILE *stream)
{
    ts_text_print(stream, guess->image_key ? "nexus " : "hdf5 ", path);
    ts_text_print(stream, guess->image_key ? " data=" : " path=", guess->data->path);
    if (guess->image_key)
        ts_text_print(stream, " image_key=", guess->image_key);
    else
        fprintf(stream, " axes=%s", guess->angles ? "view,z,detector" : "z,y,x");
    if (guess->angles)
        ts_text_print(stream, " angles=", guess->angles);
    if (guess->angles && !guess->has_unit)
        fputs(" angle_unit=degree", stream);
    if (guess->angles && !guess->image_key)
        fputs(" quantity=counts", stream);
    if (guess->angles && !guess->has_unit)
        fputs("   (or radian: the file does not say)", stream);
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
    fputs("\n  try: ", stream);
    print_input(guess, path, stream);
    fputc('\n', stream);
}

void ts_hdf5_guess_json(const struct hdf5_guess *guess, struct json *json)
{
    ts_json_open(json, '{');
    ts_json_member_text(json, "data", guess->data ? guess->data->path : NULL);
    ts_json_member_text(json, "image_key", guess->image_key);
    ts_json_member_text(json, "angles", guess->angles);
    ts_json_close(json, '}');
}

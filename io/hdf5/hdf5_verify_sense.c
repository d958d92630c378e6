/* SPDX-License-Identifier: Apache-2.0
 *
 * This checks that a file's descriptions of its images make sense (io/file/result_check.h): directions at right angles,
 * spacings positive and finite, units known. Whoever edits a file can compute its digests anew, and the first version
 * of the digests did not cover attributes at all. An image is an NXdata group with the attribute "axes" and the
 * dataset "data", which tables lack; it is put together from the lines of the listing, in which the axes and the values
 * follow their group.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/result_check.h"
#include "io/hdf5/hdf5_verify_parts.h"

enum { UNIT_BYTES = 32 };

struct sense {
    const char *group; /* path, ended by the line; NULL: no image */
    struct ts_image image;
    /* The object that attributes belong to: an axis (-1: none), the dataset "data", the group itself, or else another.
     */
    int axis;
    bool values, itself;
    bool has_data;
    int parts; /* parts of the geometry */
    char unit[UNIT_BYTES], axis_units[TS_MAX_RANK][UNIT_BYTES];
};

/* Gives the value of a line that is an attribute of this name, and of a type that begins so: at most `size` bytes of
 * it. Returns their number, or 0 for another attribute. */
static size_t get_value(const char *line, const char *name, const char *dtype, void *out, size_t size)
{
    const size_t length = strlen(name);
    line += strlen("attribute\t");
    if (strncmp(line, name, length) != 0 || line[length] != '\t' ||
        strncmp(line + length + 1, dtype, strlen(dtype)) != 0)
        return 0;
    return ts_verify_hex(strrchr(line, '\t') + 1, out, size);
}

/* Reads the attribute "axes" of an image: names of one width, filled up with zeros. */
static void take_axes(struct sense *sense, const char *line)
{
    char names[64 * TS_MAX_RANK + 1] = "";
    const size_t bytes = get_value(line, "axes", "|S", names, sizeof names - 1);
    const size_t width = bytes > 0 ? strtoull(line + strlen("attribute\taxes\t|S"), NULL, 10) : 0;
    if (width == 0 || bytes % width || bytes / width > TS_MAX_RANK)
        return;
    sense->image.rank = (int)(bytes / width);
    for (int d = 0; d < sense->image.rank; d++) {
        sense->image.axes[d].kind = TS_AXIS_ITEM; /* the values of a sweep have a name of their own */
        for (enum ts_axis_kind kind = TS_AXIS_Z; kind <= TS_AXIS_B; kind++)
            if (strlen(ts_axis_kind_name(kind)) == strnlen(names + (size_t)d * width, width) &&
                strncmp(names + (size_t)d * width, ts_axis_kind_name(kind), width) == 0)
                sense->image.axes[d].kind = kind;
    }
}

static void take_attribute(struct sense *sense, const char *line)
{
    struct ts_image *image = &sense->image;
    char quantity[UNIT_BYTES] = "";
    if (sense->axis >= 0) {
        (void)get_value(line, "units", "|S", sense->axis_units[sense->axis], UNIT_BYTES - 1);
        (void)get_value(line, "spacing", "<f8", &image->axes[sense->axis].spacing, sizeof(double));
        if (image->axes[sense->axis].kind == TS_AXIS_Y) /* y falls with the row; in older files it rises */
            image->axes[sense->axis].spacing = fabs(image->axes[sense->axis].spacing);
    } else if (sense->values) {
        (void)get_value(line, "units", "|S", sense->unit, UNIT_BYTES - 1);
        (void)get_value(line, "quantity", "|S", quantity, UNIT_BYTES - 1);
        for (int i = TS_COUNTS; *quantity && i <= TS_INTENSITY; i++)
            if (strcmp(quantity, ts_quantity_name((enum ts_quantity)i)) == 0)
                image->quantity = (enum ts_quantity)i;
    } else if (sense->itself) {
        const struct {
            const char *name;
            double *values;
            size_t bytes;
        } parts[] = {{"origin_mm", image->origin_mm, sizeof image->origin_mm},
                     {"direction", image->direction, sizeof image->direction},
                     {"step_z_mm", image->step_z_mm, sizeof image->step_z_mm}};
        take_axes(sense, line);
        for (int i = 0; i < 3; i++)
            sense->parts += get_value(line, parts[i].name, "<f8", parts[i].values, parts[i].bytes) == parts[i].bytes;
    }
}

/* Notes a dataset of the group: the values, or an axis. */
static void take_dataset(struct sense *sense, const char *path)
{
    const size_t length = strlen(sense->group);
    sense->axis = -1;
    sense->values = sense->itself = false;
    if (strncmp(path, sense->group, length) != 0 || path[length] != '/')
        return;
    const char *name = path + length + 1;
    sense->values = strncmp(name, "data\t", 5) == 0;
    sense->has_data |= sense->values;
    for (int d = 0; d < sense->image.rank; d++) {
        const char *axis = ts_axis_name(&sense->image.axes[d]);
        if (strncmp(name, axis, strlen(axis)) != 0 || name[strlen(axis)] != '\t')
            continue;
        sense->axis = d;
        sense->image.axes[d].n = strtoll(strrchr(path, '\t') + 1, NULL, 10);
    }
}

static bool end_image(struct verification *check, struct sense *sense)
{
    const char *code, *wrong = NULL;
    sense->image.unit = sense->unit;
    for (int d = 0; d < TS_MAX_RANK; d++)
        sense->image.axes[d].unit = sense->axis_units[d];
    sense->image.has_geometry = sense->parts == 3;
    if (sense->group && sense->has_data && sense->image.rank > 0)
        wrong = ts_result_wrong(&sense->image, &code);
    return !wrong || ts_verify_wrong(check, sense->group, "makes no sense: %s", wrong);
}

bool ts_verify_sense(struct verification *check)
{
    struct sense sense = {.axis = -1};
    for (size_t i = 0; i < check->n_lines; i++) {
        const char *line = check->lines[i];
        if (strncmp(line, "attribute\t", 10) == 0 && sense.group) {
            take_attribute(&sense, line);
        } else if (strncmp(line, "dataset\t", 8) == 0 && sense.group) {
            take_dataset(&sense, line + 8);
        } else if (strncmp(line, "group\t", 6) == 0) {
            if (!end_image(check, &sense))
                return false;
            sense = (struct sense){.axis = -1, .itself = true, .group = line + 6};
        }
    }
    return end_image(check, &sense);
}

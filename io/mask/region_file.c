/* SPDX-License-Identifier: Apache-2.0
 *
 * The class is in the data set, which is walked up to it first; whoever reads the regions walks it
 * again from the beginning.
 */
#include "io/mask/region_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/dicom_header/dicom_parse.h"
#include "io/file/inflate_file.h"
#include "io/file/regular_file.h"

enum { MAX_ELEMENTS = 1 << 23, TEXT_BYTES = 512 };

static bool find_class(struct region_file *file, const struct dicom_element *element, void *user)
{
    (void)user;
    if (element->tag == DICOM_TAG(0x0008, 0x0016))
        ts_region_text(file, element, file->file.sop_class, sizeof file->file.sop_class);
    return element->tag < DICOM_TAG(0x0008, 0x0016);
}

static enum region_class class_of(const char *uid)
{
    static const struct {
        const char *uid;
        enum region_class class;
    } classes[] = {{"1.2.840.10008.5.1.4.1.1.66.4", REGION_SEG},
                   {"1.2.840.10008.5.1.4.1.1.66.7", REGION_SEG}, /* label maps */
                   {"1.2.840.10008.5.1.4.1.1.481.3", REGION_RTSTRUCT}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (text_equals(uid, classes[i].uid))
            return classes[i].class;
    return REGION_NONE;
}

bool ts_region_open(struct region_file *file, const char *path, struct arena *arena)
{
    char reason[256], magic[4];
    *file = (struct region_file){.scan = {.arena = arena}};
    file->file.path = path;
    file->scan.file = &file->file;
    file->scan.reader.fd = ts_regular_file_open(path, &file->found, reason, sizeof reason);
    if (file->scan.reader.fd < 0) {
        ts_dicom_refuse(&file->scan, "input-unreadable", "%s", reason);
        return false;
    }
    file->scan.reader.file_bytes = file->file.file_bytes = file->found.st_size;
    file->file.device = file->found.st_dev;
    file->file.inode = file->found.st_ino;
    if (!ts_dicom_read(&file->scan.reader, DICOM_PREAMBLE_BYTES, magic, sizeof magic) ||
        memcmp(magic, "DICM", 4) != 0)
        return true;
    if (!ts_dicom_read_meta(&file->scan, &file->walk, DICOM_MAGIC_END) ||
        !ts_dicom_begin_data_set(&file->scan, &file->walk) ||
        !ts_region_walk(file, &(struct region_walk){.take = find_class}, NULL))
        return false;
    file->class = class_of(file->file.sop_class);
    return true;
}

void ts_region_close(struct region_file *file)
{
    ts_inflate_file_destroy(file->scan.reader.inflated);
    free(file->scan.frames);
    if (file->scan.reader.fd >= 0)
        close(file->scan.reader.fd);
    file->scan.reader.inflated = NULL;
    file->scan.frames = NULL;
    file->scan.reader.fd = -1;
}

bool ts_region_walk(struct region_file *file, const struct region_walk *what, void *user)
{
    struct dicom_element element;
    struct dicom_walk walk = file->walk;
    walk.is_open = what->is_open;
    walk.max_elements = MAX_ELEMENTS;
    for (;;) {
        const enum dicom_step step = ts_dicom_walk_next(&walk, &element);
        if (step == DICOM_STEP_END)
            return file->file.refusal == NULL;
        if (step == DICOM_STEP_BROKEN)
            ts_dicom_refuse(&file->scan, walk.code, "%s", walk.message);
        else if (!what->take(file, &element, user))
            return file->file.refusal == NULL;
        else if (element.root == 0 && element.tag == DICOM_PIXEL_DATA &&
                 element.length == DICOM_UNDEFINED)
            return file->file.refusal == NULL; /* compressed pixels end the walk */
        if (file->file.refusal)
            return false;
    }
}

/* Reads a value of at most TEXT_BYTES. Returns its length, 0 if there is none. */
static size_t read_value(struct region_file *file, const struct dicom_element *element,
                         char bytes[TEXT_BYTES])
{
    return element->length <= TEXT_BYTES &&
                   ts_dicom_read(&file->scan.reader, element->offset, bytes, element->length)
               ? element->length
               : 0;
}

int64_t ts_region_short(struct region_file *file, const struct dicom_element *element)
{
    char bytes[TEXT_BYTES];
    return read_value(file, element, bytes) == 2
               ? ts_dicom_u16((unsigned char *)bytes, file->walk.big_endian)
               : -1;
}

int64_t ts_region_integer(struct region_file *file, const struct dicom_element *element)
{
    char bytes[TEXT_BYTES];
    int64_t value;
    return ts_dicom_parse_integer(bytes, read_value(file, element, bytes), &value) && value >= 0
               ? value
               : -1;
}

bool ts_region_decimals(struct region_file *file, const struct dicom_element *element,
                        double *values, size_t n)
{
    char bytes[TEXT_BYTES];
    const size_t length = read_value(file, element, bytes);
    return length > 0 && ts_dicom_parse_decimals(bytes, length, values, n);
}

void ts_region_text(struct region_file *file, const struct dicom_element *element, char *out,
                    size_t size)
{
    char bytes[TEXT_BYTES];
    const char *text = bytes;
    size_t length = element->length < sizeof bytes ? element->length : sizeof bytes;
    if (length > 0 && !ts_dicom_read(&file->scan.reader, element->offset, bytes, length))
        length = 0;
    ts_dicom_trim(&text, &length);
    snprintf(out, size, "%.*s", (int)length, text);
}

int64_t ts_region_find(const struct region *regions, size_t n, const char *text)
{
    int64_t number, found = -1;
    if (ts_dicom_parse_integer(text, strlen(text), &number))
        for (size_t i = 0; i < n; i++)
            if (regions[i].number == number)
                return (int64_t)i;
    for (size_t i = 0; i < n; i++)
        if (text_equals(regions[i].name, text))
            found = found == -1 ? (int64_t)i : -2;
    return found;
}

static int by_number(const void *a, const void *b)
{
    const struct region *one = *(const struct region *const *)a,
                        *other = *(const struct region *const *)b;
    return (one->number > other->number) - (one->number < other->number);
}

const struct region **ts_region_sort(struct region_file *file, const struct region *regions,
                                     size_t n, const char *code)
{
    const struct region **sorted = malloc((n + 1) * sizeof(const struct region *));
    if (!sorted) {
        ts_dicom_refuse(&file->scan, "no-memory", "memory is out");
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        sorted[i] = &regions[i];
    qsort(sorted, n, sizeof *sorted, by_number);
    for (size_t i = 1; i < n && !file->file.refusal; i++)
        if (by_number(&sorted[i - 1], &sorted[i]) == 0 &&
            strcmp(sorted[i - 1]->name, sorted[i]->name) != 0)
            ts_dicom_refuse(&file->scan, code,
                            "has the number %" PRId64 " for two regions of different names",
                            sorted[i]->number);
    return sorted;
}

bool ts_region_is_listed(const struct region *const *sorted, size_t n, int64_t number)
{
    const struct region wanted = {.number = number}, *key = &wanted;
    return n > 0 && bsearch(&key, sorted, n, sizeof *sorted, by_number) != NULL;
}

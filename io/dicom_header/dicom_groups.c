/* SPDX-License-Identifier: Apache-2.0
 *
 * The functional groups come behind all other elements of the header but the pixels, the shared ones first. So a frame
 * begins as a copy of what is known of all images, and the elements of its own groups replace that. Memory grows by the
 * items that are met, never by the number that the header claims.
 */
#include "io/dicom_header/dicom_groups.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/dicom_header/dicom_csa.h"
#include "io/dicom_header/dicom_mosaic.h"
#include "io/dicom_header/dicom_values.h"

#define SHARED_GROUPS DICOM_TAG(0x5200, 0x9229)
#define FRAME_GROUPS DICOM_TAG(0x5200, 0x9230)

/* Most frames of one file, and the elements that the groups of one frame may have beside those of any file. */
enum { MAX_FRAMES = 100000, ELEMENTS_OF_FRAME = 1000, MAX_VALUES = 6 };

bool ts_dicom_is_groups(uint32_t tag)
{
    return tag == SHARED_GROUPS || tag == FRAME_GROUPS;
}

bool ts_dicom_is_open(uint32_t tag)
{
    return ts_dicom_is_groups(tag) || tag == DICOM_TAG(0x0028, 0x3000);
}

/* An image plane that stands outside of the groups is that of no frame. */
static void begin_groups(struct scan *scan, struct dicom_walk *walk)
{
    scan->has_groups = true;
    scan->image.have_position = scan->image.have_orientation = false;
    walk->max_elements = DICOM_MAX_ELEMENTS + ELEMENTS_OF_FRAME * scan->file->frames;
}

static void begin_frame(struct scan *scan, int64_t frame)
{
    struct dicom_image *image = ts_dicom_add_image(scan);
    if (image)
        image->frame = frame;
    ts_dicom_forget_groups(scan);
}

static void begin_item(struct scan *scan, struct dicom_walk *walk, const struct dicom_element *item)
{
    const int64_t frames = scan->file->frames;
    if (!scan->has_groups)
        begin_groups(scan, walk);
    if (item->root == SHARED_GROUPS) {
        if (item->item > 0 || scan->n_frames > 0)
            ts_dicom_refuse(scan, "dicom-bad-groups",
                            "the shared functional groups are not one item before the frames'");
        return;
    }
    if (frames < 1 || frames > MAX_FRAMES || item->item >= frames)
        ts_dicom_refuse(scan, "dicom-bad-groups",
                        "item %" PRId64 " of the functional groups has no frame: Number of Frames is %" PRId64
                        ", at most %d are read",
                        item->item + 1, frames, (int)MAX_FRAMES);
    else
        begin_frame(scan, item->item);
}

void ts_dicom_take_group(struct scan *scan, struct dicom_walk *walk, const struct dicom_element *element)
{
    if (scan->file->refusal)
        return; /* no further frame is kept, so that an element would go to a wrong one */
    if (element->tag == DICOM_ITEM && element->parent == element->root)
        begin_item(scan, walk, element);
    else
        ts_dicom_take(scan, walk, element);
}

/* Copies a text and cuts it to its field. */
static void copy_code(const char *text, size_t length, char out[DICOM_CODE_MAX])
{
    snprintf(out, DICOM_CODE_MAX, "%.*s", (int)length, text);
}

/* Returns value i of a text whose values backslashes divide, and its length; "" where there are fewer. */
static const char *value_of(const char *text, int i, size_t *length)
{
    for (; i > 0 && text; i--) {
        text = strchr(text, '\\');
        text = text ? text + 1 : NULL;
    }
    *length = text ? strcspn(text, "\\") : 0;
    return text ? text : "";
}

/* Finds the part of a complex MR image among the values of a text, from number `first` on: M, M_FFE or MAGNITUDE, and
 * P, R and I likewise, or PHASE MAP. */
static const char *find_component(const char *text, int first)
{
    static const char *const names[] = {"MAGNITUDE", "PHASE", "REAL", "IMAGINARY"};
    for (int i = first; i < first + MAX_VALUES; i++) {
        size_t length;
        const char *value = value_of(text, i, &length);
        for (size_t k = 0; k < sizeof names / sizeof *names && length > 0; k++) {
            const size_t whole = strlen(names[k]);
            if ((value[0] == names[k][0] && (length == 1 || value[1] == '_')) ||
                (length >= whole && !strncmp(value, names[k], whole)))
                return names[k];
        }
    }
    return "";
}

/* Names what the image shows, from its own Frame Type or from the Image Type of the file. Vendors put the part of a
 * complex image there too, since classic images have no attribute for it. */
static void name_kind(const struct dicom_file *file, struct dicom_image *image)
{
    const char *type = *image->frame_type ? image->frame_type : file->image_type, *component = "";
    size_t length;
    const char *kind = value_of(type, 2, &length);
    copy_code(kind, length, image->kind);
    if (!strcmp(file->modality, "MR"))
        component =
            *find_component(image->component, 0) ? find_component(image->component, 0) : find_component(type, 2);
    copy_code(component, strlen(component), image->component);
}

bool ts_dicom_list_images(struct scan *scan)
{
    struct dicom_file *file = scan->file;
    if (file->frames < 1)
        ts_dicom_refuse(scan, "dicom-multi-frame", "Number of Frames is %" PRId64 ", expected 1 or more", file->frames);
    else if (scan->has_groups && (int64_t)scan->n_frames != file->frames)
        ts_dicom_refuse(scan, "dicom-bad-groups",
                        "%zu items of functional groups for %" PRId64 " frames, expected one for each", scan->n_frames,
                        file->frames);
    else if (file->frames > 1 && !scan->has_groups)
        ts_dicom_refuse(scan, "dicom-multi-frame",
                        "%" PRId64 " frames without functional groups, which would say where each lies", file->frames);
    scan->image.rows = file->rows;
    scan->image.columns = file->columns;
    if (ts_dicom_is_mosaic(scan)) {
        ts_dicom_list_tiles(scan);
    } else if (scan->csa.length > 0 && isnan(scan->image.b_value) && strstr(file->image_type, "DIFFUSION")) {
        const struct dicom_csa csa = ts_dicom_read_csa(scan);
        ts_dicom_weight_by_csa(&scan->image, &csa);
    }
    const bool several = !file->refusal && scan->n_frames > 0;
    struct dicom_image *images = several ? scan->frames : &scan->image;
    file->n_images = several ? scan->n_frames : 1;
    for (size_t i = 0; i < file->n_images; i++) {
        images[i].file = file;
        if (scan->has_groups) {
            images[i].rows = file->rows;
            images[i].columns = file->columns;
        }
        name_kind(file, &images[i]);
    }
    file->images = ts_arena_copy(scan->arena, images, file->n_images, sizeof *images);
    return file->images != NULL;
}

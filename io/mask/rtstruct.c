/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the header of a structure set. In the order of tags, the number of a region comes after its
 * contours, so the contours of an item get it when the item has ended. Points are not read here.
 */
#include "io/mask/rtstruct.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

#define ROIS DICOM_TAG(0x3006, 0x0020)
#define ROI_CONTOURS DICOM_TAG(0x3006, 0x0039)
#define CONTOURS DICOM_TAG(0x3006, 0x0040)

enum { MOST_CONTOURS = 1 << 18 };

static bool is_open(uint32_t tag)
{
    return tag == ROIS || tag == ROI_CONTOURS;
}

static bool too_many(struct region_file *file, const char *what)
{
    ts_dicom_refuse(&file->scan, "rtstruct-size", "has more %s than are read, or memory is out",
                    what);
    return false;
}

static bool take_roi(struct region_file *file, const struct dicom_element *element,
                     struct rtstruct *set)
{
    if (element->tag == DICOM_ITEM && element->parent == ROIS) {
        struct region *grown =
            set->n_rois < REGION_MOST
                ? ts_memory_grow(set->rois, set->n_rois, &set->rois_capacity, sizeof *grown)
                : NULL;
        if (!grown)
            return too_many(file, "regions");
        set->rois = grown;
        grown[set->n_rois++] = (struct region){.number = -1};
        return true;
    }
    struct region *roi = &set->rois[set->n_rois - 1];
    if (element->parent == ROIS && element->tag == DICOM_TAG(0x3006, 0x0022))
        roi->number = ts_region_integer(file, element);
    else if (element->parent == ROIS && element->tag == DICOM_TAG(0x3006, 0x0024))
        ts_region_text(file, element, roi->frame_of_reference, sizeof roi->frame_of_reference);
    else if (element->parent == ROIS && element->tag == DICOM_TAG(0x3006, 0x0026))
        ts_region_text(file, element, roi->name, sizeof roi->name);
    return true;
}

static bool add_contour(struct region_file *file, struct rtstruct *set)
{
    struct rtstruct_contour *grown =
        set->n_contours < MOST_CONTOURS
            ? ts_memory_grow(set->contours, set->n_contours, &set->contours_capacity, sizeof *grown)
            : NULL;
    if (!grown)
        return too_many(file, "contours");
    set->contours = grown;
    grown[set->n_contours++] = (struct rtstruct_contour){.n_points = -1, .roi = -1};
    return true;
}

static void take_contour(struct region_file *file, const struct dicom_element *element,
                         struct rtstruct_contour *contour)
{
    char type[24];
    if (element->tag == DICOM_TAG(0x3006, 0x0042)) {
        ts_region_text(file, element, type, sizeof type);
        contour->exclusive = text_equals(type, "CLOSEDPLANAR_XOR");
        contour->closed = contour->exclusive || text_equals(type, "CLOSED_PLANAR");
    } else if (element->tag == DICOM_TAG(0x3006, 0x0045)) {
        char offset[64];
        ts_region_text(file, element, offset, sizeof offset);
        contour->moved = strpbrk(offset, "123456789") != NULL;
    } else if (element->tag == DICOM_TAG(0x3006, 0x0046)) {
        contour->n_points = ts_region_integer(file, element);
    } else if (element->tag == DICOM_TAG(0x3006, 0x0050)) {
        contour->data = (struct dicom_place){element->offset, element->length};
    }
}

static bool rtstruct_take(struct region_file *file, const struct dicom_element *element, void *user)
{
    struct rtstruct *set = user;
    if (element->root == ROIS)
        return take_roi(file, element, set);
    if (element->root != ROI_CONTOURS)
        return true;
    if (element->tag == DICOM_ITEM && element->parent == ROI_CONTOURS)
        set->n_before = set->n_contours;
    else if (element->tag == DICOM_ITEM && element->parent == CONTOURS)
        return add_contour(file, set);
    else if (element->parent == CONTOURS && set->n_contours > set->n_before)
        take_contour(file, element, &set->contours[set->n_contours - 1]);
    else if (element->parent == ROI_CONTOURS && element->tag == DICOM_TAG(0x3006, 0x0084))
        for (const int64_t number = ts_region_integer(file, element);
             set->n_before < set->n_contours; set->n_before++)
            set->contours[set->n_before].roi = number;
    return true;
}

bool ts_rtstruct_parse(struct region_file *file, struct rtstruct *set)
{
    *set = (struct rtstruct){0};
    const struct region_walk walk = {is_open, rtstruct_take};
    if (!ts_region_walk(file, &walk, set))
        return false;
    for (size_t i = 0; i < set->n_rois; i++)
        if (set->rois[i].number < 0 || set->rois[i].number > INT32_MAX)
            ts_dicom_refuse(&file->scan, "rtstruct-regions", "has a region without a number");
    const struct region **sorted = ts_region_sort(file, set->rois, set->n_rois, "rtstruct-regions");
    for (size_t i = 0; i < set->n_contours && sorted && !file->file.refusal; i++)
        if (!ts_region_is_listed(sorted, set->n_rois, set->contours[i].roi))
            ts_dicom_refuse(&file->scan, "rtstruct-regions",
                            "has contours of a region that it does not list");
    free(sorted);
    if (set->n_rois == 0)
        ts_dicom_refuse(&file->scan, "rtstruct-regions", "has no region");
    return file->file.refusal == NULL;
}

void ts_rtstruct_clear(struct rtstruct *set)
{
    free(set->rois);
    free(set->contours);
    *set = (struct rtstruct){0};
}

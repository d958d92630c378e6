/* SPDX-License-Identifier: Apache-2.0
 *
 * OME-TIFF says which image each page is, and a set of several files says it of all of them. The
 * pages of one file are sorted. Files are not: their order is that of the chain's list, or of their
 * names.
 */
#include "io/scan/tiff_planes.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_planes(const void *a, const void *b)
{
    const struct tiff_page *first = a, *second = b;
    return (first->plane > second->plane) - (first->plane < second->plane);
}

static int compare_numbers(const void *a, const void *b)
{
    const struct tiff_page *first = a, *second = b;
    return (first->number > second->number) - (first->number < second->number);
}

/* Sorts the n pages of a file if their images have another order. Returns false if the text says
 * nothing that can be followed. */
static bool order_file(struct tiff_page *pages, int64_t n, bool *sorted)
{
    bool rises = true, all = true;
    uint32_t last = 0;
    *sorted = false;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t plane = pages[i].plane;
        if (plane == TIFF_NO_PLANE)
            return false;
        rises &= plane == 0 || plane > last;
        all &= plane != 0;
        last = plane ? plane : last;
    }
    if (rises || !all)
        return rises;
    qsort(pages, (size_t)n, sizeof *pages, compare_planes);
    for (int64_t i = 1; i < n; i++)
        if (pages[i].plane == pages[i - 1].plane) {
            qsort(pages, (size_t)n, sizeof *pages, compare_numbers);
            return false;
        }
    *sorted = true;
    return true;
}

/* Names the files in the order of their first images, if there are few and no image of one is
 * between those of another. */
static const char *list_files(const struct tiff_pages *pages, const int64_t *first)
{
    enum { MOST_NAMED = 8 };
    const char *text = "";
    uint32_t last = 0;
    if (pages->n_files > MOST_NAMED)
        return NULL;
    for (int64_t done = 0; done < pages->n_files; done++) {
        int64_t next = -1;
        for (int64_t i = 0; i < pages->n_files; i++) {
            const uint32_t plane = pages->pages[first[i]].plane;
            if (plane > last && (next < 0 || plane < pages->pages[first[next]].plane))
                next = i;
        }
        if (next < 0 || pages->pages[first[next + 1] - 1].plane == 0)
            return NULL;
        text = text ? ts_arena_printf(pages->arena, "%s%s%s", text, *text ? ", " : "",
                                      pages->files[next].path)
                    : NULL;
        last = pages->pages[first[next + 1] - 1].plane;
    }
    return text;
}

/* Compares the order of the files with that of their images, `first` of which is the first page of
 * each file. A file that has all its images is a whole of its own. */
static enum ts_status check_set(const struct tiff_pages *pages, const int64_t *first,
                                const uint32_t *planes, struct ts_diag *diag)
{
    uint32_t last = 0;
    int64_t late = -1;
    for (int64_t i = 0; i < pages->n_files && late < 0; i++)
        for (int64_t k = first[i]; k < first[i + 1] && planes[i] > first[i + 1] - first[i]; k++) {
            const uint32_t plane = pages->pages[k].plane;
            if (plane != 0 && (plane < last || (planes[i] == pages->n_pages && plane != k + 1)))
                late = i;
            last = plane ? plane : last;
        }
    if (late < 0)
        return TS_OK;
    static const char *const words =
        "%s: its text says that its first image is number %u of the %u of a set of files, which "
        "is not its place in the order of the %s";
    const char *path = pages->files[late].path;
    const uint32_t plane = pages->pages[first[late]].plane;
    if (!pages->by_name) {
        ts_diag_warning(diag, TIFF_SITE(pages, "tiff-plane-order"), words, path, plane,
                        planes[late], "list: that of the list is taken");
        return TS_OK;
    }
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-plane-order"), words, path, plane,
                  planes[late], "names");
    const char *files = list_files(pages, first);
    return files
               ? ts_diag_hint(diag, "tiff: [%s] reads them in the order of their images", files)
               : ts_diag_hint(diag, "tiff: [FILE, FILE, ...] reads files in the order of the list");
}

enum ts_status ts_tiff_order_planes(struct tiff_pages *pages, struct ts_diag *diag)
{
    const size_t n = (size_t)pages->n_files;
    int64_t *first = ts_arena_alloc(pages->arena, (n + 1) * sizeof *first);
    uint32_t *planes = ts_arena_alloc(pages->arena, n * sizeof *planes);
    const char *reordered = NULL, *unclear = NULL;
    if (!first || !planes)
        return ts_diag_no_memory(diag, n * sizeof *first);
    first[n] = pages->n_pages;
    for (int64_t i = 0, k = 0; i < pages->n_files; i++) {
        bool sorted;
        first[i] = k;
        planes[i] = pages->pages[k].planes;
        while (k < pages->n_pages && pages->pages[k].file == i)
            k++;
        if (!order_file(pages->pages + first[i], k - first[i], &sorted))
            unclear = unclear ? unclear : pages->files[i].path;
        else if (sorted)
            reordered = reordered ? reordered : pages->files[i].path;
    }
    if (reordered)
        ts_diag_note(diag, TIFF_SITE(pages, "tiff-plane-order"),
                     "%s: its text says which image each page is: the pages are read in the order "
                     "of the images, not in that of the file",
                     reordered);
    if (unclear) {
        ts_diag_warning(diag, TIFF_SITE(pages, "tiff-plane-order"),
                        "%s: its text says which image each page is, and cannot be followed: the "
                        "pages are read in the order of the file",
                        unclear);
        return TS_OK;
    }
    return n > 1 ? check_set(pages, first, planes, diag) : TS_OK;
}

/* ---- axes ------------------------------------------------------------------------------------ */

const char *const ts_tiff_axis_names[TIFF_AXES] = {"channel", "slice", "time", "group"};

/* tifffile calls the images of a file channels if no one names their axis, which are slices or
 * views then. ImageJ shows no more channels than these together. */
enum { MOST_CHANNELS = 7 };

/* Returns the first of the axes that have several images, but for `without`; -1: there is none. */
static int find_axis(const struct tiff_page *first, int without)
{
    static const int in_order[] = {TIFF_SLICE_AXIS, TIFF_TIMES, TIFF_OTHERS, TIFF_CHANNELS};
    for (size_t i = 0; i < sizeof in_order / sizeof *in_order; i++)
        if (in_order[i] != without && first->axes[in_order[i]].n > 1)
            return in_order[i];
    return -1;
}

static void refuse_axes(const struct tiff_pages *pages, const struct tiff_page *first, uint64_t n,
                        struct ts_diag *diag)
{
    const struct tiff_plane_axis *axes = first->axes;
    char groups[32] = "";
    if (axes[TIFF_OTHERS].n > 1)
        snprintf(groups, sizeof groups, ", in %u groups", axes[TIFF_OTHERS].n);
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-axes"),
                  "%s says that its %llu images are of %u channels, %u slices and %u times%s",
                  pages->files[0].path, (unsigned long long)n, axes[TIFF_CHANNELS].n,
                  axes[TIFF_SLICE_AXIS].n, axes[TIFF_TIMES].n, groups);
}

enum ts_status ts_tiff_check_images(const struct tiff_pages *pages, struct ts_diag *diag)
{
    const struct tiff_page *several = NULL;
    for (int64_t i = 0; i < pages->n_pages && !several; i++)
        several = pages->pages[i].images > 1 ? &pages->pages[i] : NULL;
    if (pages->n_pick > 0 || pages->n_pages < 2)
        return TS_OK;
    if (*pages->companion) {
        ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-companion"),
                      "%s has pixels only: its text says that %s has what says which images they "
                      "are, which is not read",
                      pages->files[pages->bare].path, pages->companion);
        return ts_diag_hint(diag, "pick: [0, 1] takes all pages as they follow each other in the "
                                  "files");
    }
    if (!several)
        return TS_OK;
    const uint32_t *n = several->image_planes;
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-images"),
                  "%s says that it has %u Images, the first of %u pages and the second of %u",
                  pages->files[several->file].path, several->images, n[0], n[1]);
    if (pages->n_files > 1)
        return ts_diag_hint(diag, "pick: [0, 1] takes the pages of all");
    return ts_diag_hint(diag,
                        "pick: [0, 1, %u] takes the pages of the first, pick: [%u, 1, %u] those of "
                        "the second, pick: [0, 1] those of all",
                        n[0], n[0], n[1]);
}

enum ts_status ts_tiff_check_axes(struct tiff_pages *pages, const struct tiff_page *first,
                                  int64_t n_of_first, struct ts_diag *diag)
{
    const struct tiff_plane_axis *axes = first->axes;
    const int along = find_axis(first, -1), other = along < 0 ? -1 : find_axis(first, along);
    uint64_t n = 1;
    pages->axis = TIFF_AXES;
    for (int i = 0; i < TIFF_AXES; i++)
        n *= axes[i].n > 1 ? axes[i].n : 1;
    if (first->planes > 1 && n_of_first != first->planes && pages->n_pages != first->planes) {
        ts_diag_warning(diag, TIFF_SITE(pages, "tiff-planes"),
                        "%s says that it has %u images, and %lld are there",
                        pages->files[first->file].path, first->planes, (long long)n_of_first);
        return TS_OK;
    }
    if (along < 0 || pages->n_pick > 0 ||
        (first->planes <= 1 && n != (uint64_t)n_of_first && n != (uint64_t)pages->n_pages))
        return TS_OK;
    if (other >= 0) {
        refuse_axes(pages, first, n, diag);
        return ts_diag_hint(diag,
                            "pick: [0, %u, %u] takes the %ss of the first %s, pick: [%u, %u, %u] "
                            "those of the second",
                            axes[along].step, axes[along].n, ts_tiff_axis_names[along],
                            ts_tiff_axis_names[other], axes[other].step, axes[along].step,
                            axes[along].n);
    }
    if (along == TIFF_CHANNELS && first->guessed && axes[along].n > MOST_CHANNELS)
        return TS_OK;
    pages->axis = along;
    if (pages->along == 0 || pages->along >> along & 1)
        return TS_OK;
    refuse_axes(pages, first, n, diag);
    return ts_diag_hint(diag, "pick: [0, %lld] takes the first %s%s, pick: [0, 1] all images",
                        (long long)(n_of_first < pages->n_pages ? n_of_first : pages->n_pages),
                        ts_tiff_axis_names[along],
                        n_of_first < pages->n_pages ? " of each file" : "");
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Images are compared one after the other, so that the buffers of one pair of them are all the memory that is held. A
 * result may have several names for an image; each pair of names is compared once.
 */
#include "program/record/comparison.h"

#include <math.h>
#include <string.h>

static enum comparison_state worse(enum comparison_state a, enum comparison_state b)
{
    return a > b ? a : b;
}

/* ---- one image ----------------------------------------------------------------------------------- */

static enum comparison_state judge(const struct comparison_request *request, struct compared_image *image)
{
    const struct difference *difference = &image->difference;
    if (image->grid.differs || difference->n_invalid_apart > 0)
        return COMPARED_BEYOND;
    image->tolerance = request->tolerance_of ? request->tolerance_of(request->user, image->name, difference->magnitude)
                                             : request->tolerance;
    if (difference->n_differ == 0) /* hidden values have other digests all the same */
        return request->by_digest && difference->n_hidden > 0 ? COMPARED_WITHIN : COMPARED_EQUAL;
    return difference->largest <= image->tolerance ? COMPARED_WITHIN : COMPARED_BEYOND;
}

static const double first_rounded = 0x1p53; /* larger integers need not be doubles */

static enum ts_status compare_image(const struct comparison_request *request, const char *const names[2],
                                    struct compared_image *image, struct arena *arena, struct ts_diag *diag)
{
    struct side sides[2] = {0};
    enum ts_status status = TS_OK;
    for (int i = 0; i < 2 && status == TS_OK; i++)
        status = ts_side_open(request->sides[i].text, request->sides[i].one_line, names[i], &sides[i], diag);
    if (status == TS_OK) {
        const char *unit = sides[0].source->image.unit ? sides[0].source->image.unit : "";
        ts_grid_compare(sides, &image->grid);
        image->unit = ts_arena_text(arena, unit, strlen(unit));
        if (!image->unit)
            status = ts_diag_no_memory(diag, strlen(unit));
    }
    if (status == TS_OK && image->grid.same_shape)
        status = ts_difference(sides[0].source, sides[1].source, &request->difference, &image->difference, diag);
    if (status == TS_OK)
        image->rounded = (sides[0].source->image.dtype == TS_F64 || sides[1].source->image.dtype == TS_F64) &&
                         image->difference.magnitude >= first_rounded;
    for (int i = 0; i < 2; i++)
        ts_side_close(&sides[i]);
    image->state = judge(request, image);
    return status;
}

/* ---- all images ---------------------------------------------------------------------------------- */

static enum ts_status add_pair(const struct comparison_request *request, struct comparison *comparison,
                               const struct made_image *a, const struct made_image *b, struct ts_diag *diag)
{
    struct compared_image *image = &comparison->images[comparison->n_images++];
    *image = (struct compared_image){.name = a ? a->name : b->name, .tolerance = request->tolerance, .unit = ""};
    if (a && b && request->by_digest && !strcmp(a->digest, b->digest)) {
        image->by_digest = true;
        return TS_OK;
    }
    if (a && b)
        return compare_image(request, (const char *const[]){a->name, b->name}, image, comparison->arena, diag);
    image->state = COMPARED_LACKED;
    image->lacked_by = a ? 1 : 0;
    return TS_OK;
}

/* Compares the images of two results, by all their names: `data` may be another name of a saved image in one of them
 * and not in the other. */
static enum ts_status compare_results(const struct comparison_request *request, struct comparison *comparison,
                                      struct ts_diag *diag)
{
    const struct made *a = &comparison->made[0], *b = &comparison->made[1];
    enum ts_status status = TS_OK;
    for (size_t i = 0; i < a->n_images && status == TS_OK; i++)
        if (!a->images[i].same)
            status = add_pair(request, comparison, &a->images[i], ts_made_image(b, a->images[i].name), diag);
    for (size_t i = 0; i < b->n_images && status == TS_OK; i++) {
        const struct made_image *image = &b->images[i], *other = ts_made_image(a, image->name);
        const bool compared = other && ts_made_image(b, other->name) == image;
        if (!image->same && !compared)
            status = add_pair(request, comparison, other, image, diag);
    }
    return status;
}

static enum ts_status compare_made(struct comparison *comparison, struct ts_diag *diag)
{
    if (!ts_made_compare(&comparison->made[0], &comparison->made[1], comparison->arena, &comparison->differences,
                         &comparison->n_differences))
        return ts_diag_no_memory(diag, comparison->made[0].n_facts * sizeof *comparison->differences);
    for (size_t i = 0; i < comparison->n_differences; i++)
        for (int side = 0; side < 2; side++)
            if (comparison->differences[i].sides[side]) {
                comparison->n_tables += ts_made_is_table(comparison->differences[i].sides[side]);
                break;
            }
    return TS_OK;
}

/* Reads what both sides say of themselves, where both are results. */
static enum ts_status read_made(const struct comparison_request *request, struct comparison *comparison,
                                struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    comparison->has_made = true;
    for (int i = 0; i < 2 && comparison->has_made && status == TS_OK; i++) {
        comparison->has_made = !request->sides[i].one_line;
        if (comparison->has_made)
            status = ts_side_is_hdf5(request->sides[i].text, &comparison->has_made, diag);
    }
    for (int i = 0; i < 2 && comparison->has_made && status == TS_OK; i++)
        status = ts_made_read(request->sides[i].text, comparison->arena, &comparison->made[i], diag);
    if (status == TS_OK && comparison->has_made)
        status = compare_made(comparison, diag);
    return status;
}

enum ts_status ts_comparison_make(const struct comparison_request *request, struct comparison *comparison,
                                  struct ts_diag *diag)
{
    const struct comparison_side *sides = request->sides;
    *comparison = (struct comparison){
        .arena = ts_arena_create(), .names = {sides[0].text, sides[1].text}, .tolerance = request->tolerance};
    if (!comparison->arena)
        return ts_diag_no_memory(diag, sizeof *comparison);
    enum ts_status status = read_made(request, comparison, diag);
    const size_t most = comparison->made[0].n_images + comparison->made[1].n_images + 1;
    comparison->images = ts_arena_alloc(comparison->arena, most * sizeof *comparison->images);
    if (status == TS_OK && !comparison->images)
        status = ts_diag_no_memory(diag, most * sizeof *comparison->images);
    if (status == TS_OK && comparison->has_made && !sides[0].image && !sides[1].image) {
        status = compare_results(request, comparison, diag);
    } else if (status == TS_OK) {
        struct compared_image *image = &comparison->images[comparison->n_images++];
        const char *name = sides[0].image ? sides[0].image : sides[1].image;
        *image = (struct compared_image){.name = name ? name : "", .tolerance = request->tolerance, .unit = ""};
        status = compare_image(request, (const char *const[]){sides[0].image, sides[1].image}, image, comparison->arena,
                               diag);
    }
    for (size_t i = 0; i < comparison->n_images; i++)
        comparison->state = worse(comparison->state, comparison->images[i].state);
    if (comparison->n_tables > 0 && !sides[0].image && !sides[1].image && request->tolerance == 0 &&
        !request->tolerance_of)
        comparison->state = worse(comparison->state, COMPARED_BEYOND);
    return status;
}

void ts_comparison_free(struct comparison *comparison)
{
    ts_arena_destroy(comparison->arena);
    *comparison = (struct comparison){0};
}

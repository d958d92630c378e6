/* SPDX-License-Identifier: Apache-2.0
 *
 * The drawing is that of `check --picture`, made from the sinogram in the result and the center that the stages after
 * it ran with.
 */
#include <stdlib.h>
#include <string.h>

#include "core/number.h"
#include "pipeline/drawing/geometry_picture.h"
#include "pipeline/report/html.h"
#include "pipeline/report/parts.h"
#include "stages/engine/stage.h"

/* Returns the rotation axis that a stage of the result was given or found, as it is written there; "": it has none. */
static const char *axis_of(const struct report_facts *facts, const struct report_stage *of, const struct stage *stage)
{
    for (size_t i = 0; stage && i < stage->n_params; i++)
        if (stage->params[i].rotation_axis)
            return ts_report_value(facts, "%s/parameters/%s", of->group, stage->params[i].name);
    return "";
}

/* Finds the center that a later stage was given or found. Returns the label of that stage, or NULL. A stage that this
 * build does not know may have changed the detector. */
static const char *find_center(const struct report_facts *facts, const struct report_image *image, double *center)
{
    for (size_t i = 0; i < facts->n_stages; i++) {
        const struct report_stage *recorded = &facts->stages[i];
        const struct stage *stage = ts_stage_find(recorded->stage);
        if (image->stage && recorded->number <= image->stage->number)
            continue;
        const char *text = axis_of(facts, recorded, stage);
        if (*text && !ts_number_real(text, center))
            return recorded->label;
        if (!stage || (stage->traits & TRAIT_NEW_DETECTOR))
            return NULL;
    }
    return NULL;
}

static const struct report_image *last_sinogram(const struct report_images *images)
{
    const struct report_image *found = NULL;
    for (size_t i = 0; i < images->n; i++) {
        const struct ts_image *image = &images->at[i].source->image;
        if (ts_image_is_sinogram(image) && image->axes[1].unit && !strcmp(image->axes[1].unit, "degree"))
            found = &images->at[i];
    }
    return found;
}

/* Writes the drawing, and below it the numbers, each line of which is an item: on a phone the drawing's own would be
 * too small to read. */
static void write_section(const struct report_image *image, const char *svg, char *numbers, FILE *stream)
{
    ts_html_section(stream, "geometry", "How the sinogram was measured");
    fputs("<p>", stream);
    ts_html_print(stream, "The image %s; x, y and the angle are those of the reconstruction.", image->name);
    fputs("</p>\n<div class=\"geometry\">\n", stream);
    ts_html_svg(stream, svg);
    fputs("</div>\n<ul>\n", stream);
    for (char *line; (line = strsep(&numbers, "\n"));)
        if (*line) {
            const size_t length = strlen(line);
            line[length - (line[length - 1] == ':')] = '\0'; /* items have no lines below them */
            fputs("<li>", stream);
            ts_svg_text(stream, line);
            fputc('\n', stream);
        }
    fputs("</ul>\n</section>\n", stream);
}

enum ts_status ts_report_geometry(const struct report_facts *facts, const struct report_images *images, FILE *stream,
                                  struct ts_diag *diag)
{
    const struct report_image *image = last_sinogram(images);
    char *texts[2] = {NULL, NULL}; /* the drawing and its numbers */
    size_t n[2];
    if (!image)
        return TS_OK;
    struct ts_image sinogram = image->source->image;
    struct rotation_axis axis = {.center = -sinogram.axes[2].first / ts_axis_spacing(&sinogram.axes[2])};
    axis.owner = find_center(facts, image, &axis.center);
    sinogram.axes[2].first = -axis.center * ts_axis_spacing(&sinogram.axes[2]);
    FILE *drawing = open_memstream(&texts[0], &n[0]), *numbers = open_memstream(&texts[1], &n[1]);
    if (drawing && numbers)
        ts_geometry_picture(&sinogram, &axis, drawing, numbers);
    const bool drawn = drawing && fclose(drawing) == 0, numbered = numbers && fclose(numbers) == 0;
    if (drawn && numbered)
        write_section(image, texts[0], texts[1], stream);
    free(texts[0]);
    free(texts[1]);
    return drawn && numbered ? TS_OK : ts_diag_no_memory(diag, sizeof sinogram);
}

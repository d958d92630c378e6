/* SPDX-License-Identifier: Apache-2.0
 *
 * All planes of an image have one scale, so that lengths can be compared: the smallest at which the
 * shorter side of a sample is a whole number of pixels and the longest plane is at least 512 pixels
 * long, or 256 if there are many planes. The longer side of a sample follows from its proportions.
 * Gray levels and interpolation are those of the viewer (cuda/view/picture.h).
 */
#include "program/show/sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/grid.h"
#include "io/file/png.h"
#include "program/show/font.h"

struct sheet {
    int64_t width, height;
    uint8_t *gray; /* free() */
    uint8_t *over; /* the ink of what lies over each pixel; NULL: nothing does */
};

enum {
    /* least width of the sheet, and least length of the longest side of a plane */
    LEAST = 512,
    LEAST_MANY = 256, /* the same if there are more than FEW planes */
    FEW = 3,
    MOST = 4096, /* greatest length of a side of a plane that is enlarged or reduced */
    MARGIN = 10,
    GROUND = 20,
    INK = 230,
    SHADE = 150, /* gray of less important lines of text */
    LINES = 8,
    LINE_BYTES = 512
};

/* One plane on the sheet. */
struct cell {
    const struct preview_image *image;
    const struct picture_plane *plane, *over; /* over: what lies over it; NULL: nothing does */
    double pitch;                             /* length of a pixel */
    int64_t enlargement; /* pixels along the shorter side of a sample; 0: the plane is reduced */
    int64_t left, top, width, height; /* of the plane on the sheet */
    int64_t space;                    /* width for the caption */
    size_t row, column;
    char lines[LINES][LINE_BYTES];
    int n_lines;
};

/* How the sheet is drawn. `font`: pixels of the side of a dot of a letter. */
struct drawing {
    struct sheet_style style;
    int font;
};

/* ---- texts ----------------------------------------------------------------------------------- */

void ts_sheet_size_text(const struct picture_plane *plane, char *text, size_t size)
{
    const int n =
        snprintf(text, size, "%lld x %lld", (long long)plane->columns, (long long)plane->rows);
    if (plane->unit && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, " of %.4g x %.4g %s", plane->width, plane->height,
                 plane->unit);
}

void ts_sheet_window_text(const struct preview_image *image, char *text, size_t size)
{
    if (image->window.none) {
        snprintf(text, size, "no value that is shown is finite");
        return;
    }
    const bool bare = !*image->image.unit || !strcmp(image->image.unit, "1");
    snprintf(text, size, "window %.5g to %.5g%s%s (%s)", image->window.low, image->window.high,
             bare ? "" : " ", bare ? "" : image->image.unit, image->window.name);
}

/* Adds a text to the caption, in as many lines as it needs. */
static void add_line(struct cell *cell, const char *text, int font)
{
    const size_t most = (size_t)(cell->space / (font * FONT_WIDTH));
    while (*text && cell->n_lines < LINES) {
        size_t n = strlen(text);
        if (n > most) {
            for (n = most; n > most / 2 && text[n] != ' ';)
                n--;
            n = text[n] == ' ' ? n : most;
        }
        snprintf(cell->lines[cell->n_lines++], LINE_BYTES, "%.*s",
                 (int)(n < LINE_BYTES ? n : LINE_BYTES - 1), text);
        text += n + (text[n] == ' ');
    }
}

/* Returns true if nothing is interpolated: between two labels there is none. */
static bool has_blocks(const struct preview_image *image, bool blocks)
{
    return blocks || image->image.labels > 0;
}

/* Says how large the plane is drawn. */
static void add_size(struct cell *cell, bool blocks, int font)
{
    const struct picture_plane *plane = cell->plane;
    char text[LINE_BYTES], part[LINE_BYTES / 2];
    ts_sheet_size_text(plane, part, sizeof part);
    if (cell->enlargement == 0)
        snprintf(text, sizeof text, "%s, reduced to %lld x %lld pixels", part,
                 (long long)cell->width, (long long)cell->height);
    else if (cell->width == plane->columns && cell->height == plane->rows)
        snprintf(text, sizeof text, "%s, a pixel each", part);
    else
        snprintf(text, sizeof text, "%s, enlarged to %lld x %lld pixels, %s", part,
                 (long long)cell->width, (long long)cell->height,
                 has_blocks(cell->image, blocks) ? "not interpolated" : "interpolated");
    add_line(cell, text, font);
}

/* Returns true if an image has so many planes that what they share is said once, below all. */
static bool is_montage(const struct preview_image *image)
{
    return image->n_planes > FEW;
}

static void add_name(struct cell *cell, int font)
{
    char text[LINE_BYTES];
    ts_text_escape(text, sizeof text, cell->image->name);
    add_line(cell, text, font);
}

static void add_window(struct cell *cell, int font)
{
    char text[LINE_BYTES], name[LINE_BYTES / 2];
    ts_sheet_window_text(cell->image, text, sizeof text);
    add_line(cell, text, font);
    if (!cell->image->over_name)
        return;
    ts_text_escape(name, sizeof name, cell->image->over_name);
    snprintf(text, sizeof text, "over it: %s", name);
    add_line(cell, text, font);
}

/* Says of a plane of a montage only what tells it from the others. */
static void make_short_caption(struct cell *cell, bool named, int font)
{
    const struct picture_plane *plane = cell->plane;
    const struct ts_axis *axis = &cell->image->image.axes[plane->across];
    char text[LINE_BYTES];
    if (named)
        add_name(cell, font);
    if (plane->volume_name)
        add_line(cell, plane->volume_name, font);
    int n = snprintf(text, sizeof text, "slice %lld", (long long)plane->index);
    if (plane->lengths && strcmp(ts_picture_unit(axis), "pixel") != 0)
        n += snprintf(text + n, sizeof text - (size_t)n, " at %.5g %s",
                      ts_grid_position(&cell->image->image, plane->across, plane->index),
                      axis->unit);
    if (cell->image->n_volumes > 1 && !plane->volume_name)
        snprintf(text + n, sizeof text - (size_t)n, ", volume %lld", (long long)plane->volume);
    add_line(cell, text, font);
}

/* Says what the planes of a montage share. */
static void make_common_caption(struct cell *cell, bool blocks, int font)
{
    const struct preview_image *image = cell->image;
    const struct ts_axis *axis = &image->image.axes[cell->plane->across];
    const char *from = ts_picture_from(&image->image, cell->plane->across);
    char text[LINE_BYTES];
    add_name(cell, font);
    snprintf(text, sizeof text, "%d of %s%sslices 0 to %lld%s%s", image->n_planes,
             cell->plane->name, *cell->plane->name ? " " : "", (long long)axis->n - 1,
             *from ? ", positions are" : "", from);
    if (image->n_volumes > 1)
        snprintf(text, sizeof text, "%d of volumes 0 to %lld", image->n_planes,
                 (long long)image->n_volumes - 1);
    add_line(cell, text, font);
    add_window(cell, font);
    add_size(cell, blocks, font);
}

static void make_caption(struct cell *cell, bool blocks, int font)
{
    const struct picture_plane *plane = cell->plane;
    const struct preview_image *image = cell->image;
    char text[LINE_BYTES];
    add_name(cell, font);
    if (plane->volume_name)
        add_line(cell, plane->volume_name, font);
    ts_picture_slice_text(&image->image, plane, text, sizeof text / 2);
    if (image->n_volumes > 1)
        snprintf(text + strlen(text), sizeof text / 2, ", volume %lld (0 to %lld)",
                 (long long)plane->volume, (long long)image->n_volumes - 1);
    add_line(cell, text, font);
    add_window(cell, font);
    add_size(cell, blocks, font);
}

/* ---- sizes and places ------------------------------------------------------------------------ */

/* Finds the scale of an image's planes: the pitch, and the enlargement of the shorter side of a
 * sample. */
static void find_scale(const struct preview_image *image, int64_t least, bool plain,
                       struct cell *cells)
{
    double finest = INFINITY, longest = 0;
    for (int i = 0; i < image->n_planes; i++) {
        const struct picture_plane *plane = &image->planes[i];
        finest = fmin(finest, fmin(plane->width, plane->height));
        longest = fmax(longest, fmax((double)plane->columns * plane->width,
                                     (double)plane->rows * plane->height));
    }
    double enlargement = plain ? 1 : fmax(1, ceil((double)least * finest / longest - 1e-9));
    double pitch = finest / enlargement;
    if (!plain && longest / pitch > MOST) {
        pitch = longest / MOST;
        enlargement = 0;
    }
    for (int i = 0; i < image->n_planes; i++) {
        const struct picture_plane *plane = &image->planes[i];
        cells[i] = (struct cell){.image = image,
                                 .plane = plane,
                                 .over = image->over_planes ? &image->over_planes[i] : NULL,
                                 .pitch = pitch,
                                 .enlargement = (int64_t)enlargement};
        cells[i].width =
            plain ? plane->columns
                  : (int64_t)fmax(1, rint((double)plane->columns * plane->width / pitch));
        cells[i].height = plain
                              ? plane->rows
                              : (int64_t)fmax(1, rint((double)plane->rows * plane->height / pitch));
    }
}

/* Gives each plane its row and column. Of several images each begins a row. Returns how many
   columns there are. */
static size_t arrange(const struct preview_images *images, struct cell *cells, size_t n)
{
    size_t most = 0, row = 0, column = 0;
    for (size_t i = 0; i < images->n; i++)
        most = (size_t)images->at[i].n_planes > most ? (size_t)images->at[i].n_planes : most;
    const bool grouped = images->n > 1 && most > 1;
    const size_t per_row = grouped ? most : n,
                 columns = per_row <= FEW ? per_row : (size_t)ceil(sqrt((double)per_row));
    for (size_t i = 0; i < n; i++, column++) {
        if (i > 0 && (column == columns || (grouped && cells[i].image != cells[i - 1].image))) {
            row++;
            column = 0;
        }
        cells[i].row = row;
        cells[i].column = column;
    }
    return columns;
}

static int64_t bar_height(const struct cell *cell, int font)
{
    return cell->plane->unit ? (int64_t)(FONT_HEIGHT + 4) * font : 0;
}

/* Sets the left edge and the width for the caption of the cells of each column, which is as wide as
   its widest plane. Returns the width of all. */
static int64_t place_columns(struct cell *cells, size_t n, size_t columns, bool plain,
                             int64_t margin)
{
    int64_t left = 0, least = columns > 1 || n > FEW ? LEAST_MANY : LEAST - 2 * margin;
    for (size_t c = 0; c < columns; c++) {
        int64_t wide = plain ? 1 : least;
        for (size_t i = 0; i < n; i++)
            wide = cells[i].column == c && cells[i].width > wide ? cells[i].width : wide;
        for (size_t i = 0; i < n; i++)
            if (cells[i].column == c) {
                cells[i].left = left;
                cells[i].space = wide;
            }
        left += wide + margin;
    }
    return left - margin;
}

/* Places the cells, of which the last are captions that planes share (sheet_place), and returns the
   size of the sheet. A row is as high as its highest plane. */
static void sheet_place(struct cell *cells, size_t n, size_t n_common, size_t columns,
                        const struct drawing *drawing, int64_t size[2])
{
    const struct sheet_style *style = &drawing->style;
    const int font = drawing->font;
    const int64_t margin = style->plain ? 4 : (int64_t)MARGIN * font,
                  edge = style->plain ? 0 : margin;
    const int64_t width = place_columns(cells, n, columns, style->plain, margin);
    int64_t top = edge;
    for (size_t row = 0, i = 0; i < n; row++) {
        int64_t high = 0, below = 0;
        const size_t first = i;
        for (; i < n && cells[i].row == row; i++) {
            struct cell *cell = &cells[i];
            cell->left += edge;
            if (!style->plain && is_montage(cell->image))
                make_short_caption(cell, n_common > 1, font);
            else if (!style->plain)
                make_caption(cell, style->blocks, font);
            const int64_t text = style->plain ? 0
                                              : margin / 2 + bar_height(cell, font) +
                                                    (int64_t)cell->n_lines * FONT_HEIGHT * font;
            high = cell->height > high ? cell->height : high;
            below = text > below ? text : below;
        }
        for (size_t k = first; k < i; k++)
            cells[k].top = top + (style->plain ? 0 : high - cells[k].height);
        top += high + below + margin;
    }
    for (size_t i = n; i < n + n_common; i++) {
        cells[i].left = edge;
        cells[i].top = top;
        cells[i].space = width;
        make_common_caption(&cells[i], style->blocks, font);
        top += (int64_t)cells[i].n_lines * FONT_HEIGHT * font + margin;
    }
    size[0] = width + 2 * edge;
    size[1] = top - margin + edge;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void sheet_put(struct sheet *sheet, int64_t x, int64_t y, uint8_t gray, int over)
{
    sheet->gray[y * sheet->width + x] = gray;
    if (sheet->over)
        sheet->over[y * sheet->width + x] = (uint8_t)over;
}

static void sheet_fill(struct sheet *sheet, int64_t left, int64_t top, int64_t width,
                       int64_t height, uint8_t gray)
{
    for (int64_t y = top < 0 ? 0 : top; y < top + height && y < sheet->height; y++)
        for (int64_t x = left < 0 ? 0 : left; x < left + width && x < sheet->width; x++)
            sheet_put(sheet, x, y, gray, 0);
}

static void draw_text(struct sheet *sheet, int64_t x, int64_t y, const char *text, int font,
                      uint8_t gray)
{
    for (; *text; x += (int64_t)FONT_WIDTH * font) {
        const uint8_t *rows = ts_font_letter(&text);
        for (int row = 0; row < FONT_HEIGHT; row++)
            for (int column = 0; column < FONT_WIDTH; column++)
                if (rows[row] & (0x80 >> column))
                    sheet_fill(sheet, x + column * font, y + row * font, font, font, gray);
    }
}

/* Returns the plane's values in this window, in the form that cuda/view/picture.h draws. */
static struct view_pane picture_pane(const struct picture_plane *plane,
                                     const struct gray_window *window)
{
    return (struct view_pane){.data = plane->values,
                              .dtype = TS_F32,
                              .n_u = plane->columns,
                              .n_v = plane->rows,
                              .stride_u = 1,
                              .stride_v = plane->columns,
                              .low = window->low,
                              .high = window->high};
}

/* Returns the ink of what lies over the pixel (x, y) of a cell. */
static int over_at(const struct cell *cell, bool contour, int64_t x, int64_t y)
{
    static const int dx[] = {0, -1, 1, 0, 0}, dy[] = {0, 0, 0, -1, 1};
    const struct picture_plane *plane = cell->over;
    double values[5];
    for (int i = 0; i < (contour ? 5 : 1); i++) {
        const int64_t left = x + dx[i], top = y + dy[i];
        const bool inside = left >= 0 && left < cell->width && top >= 0 && top < cell->height;
        values[i] = inside
                        ? (double)plane->values[top * plane->rows / cell->height * plane->columns +
                                                left * plane->columns / cell->width]
                        : (double)NAN;
    }
    const struct overlay *overlay = &cell->image->over;
    return contour ? ts_overlay_edge(overlay, values) : ts_overlay_ink(overlay, values[0]);
}

/* Draws the samples; those without a measurement are black. */
static void draw_plane(struct sheet *sheet, const struct cell *cell,
                       const struct sheet_style *style)
{
    const struct picture_plane *plane = cell->plane;
    const struct view_pane pane = picture_pane(plane, &cell->image->window);
    const bool exact = cell->width == plane->columns && cell->height == plane->rows;
    for (int64_t i = 0; i < plane->rows * plane->columns; i++)
        plane->values[i] = isnan(plane->values[i]) ? (float)pane.low : plane->values[i];
    for (int64_t y = 0; y < cell->height; y++)
        for (int64_t x = 0; x < cell->width; x++) {
            const double u = ((double)x + 0.5) * (double)plane->columns / (double)cell->width;
            const double v = ((double)y + 0.5) * (double)plane->rows / (double)cell->height;
            const double value = exact || has_blocks(cell->image, style->blocks)
                                     ? ts_view_value(&pane, (int64_t)u, (int64_t)v)
                                     : ts_view_interpolated(&pane, u, v);
            const bool measured = pane.high > pane.low;
            sheet_put(sheet, cell->left + x, cell->top + y,
                      measured ? (uint8_t)ts_view_level(&pane, value) : 0,
                      cell->over ? over_at(cell, style->over->contour, x, y) : 0);
        }
}

/* Draws the letters of the patient's sides at the edges of a plane, if it has room for them. */
static void draw_sides(struct sheet *sheet, const struct cell *cell, int font)
{
    const int64_t wide = (int64_t)FONT_WIDTH * font, high = (int64_t)FONT_HEIGHT * font,
                  gap = (int64_t)3 * font;
    const int64_t right = cell->left + cell->width, bottom = cell->top + cell->height;
    const int64_t x[4] = {cell->left + gap, right - wide - gap,
                          cell->left + (cell->width - wide) / 2,
                          cell->left + (cell->width - wide) / 2};
    const int64_t y[4] = {cell->top + (cell->height - high) / 2,
                          cell->top + (cell->height - high) / 2, cell->top + gap,
                          bottom - high - gap};
    for (int i = 0; i < 4; i++) {
        const char text[2] = {cell->plane->sides[i], 0};
        if (!*text || cell->height < (i < 2 ? high : 3 * high) || cell->width < 6 * wide)
            continue;
        sheet_fill(sheet, x[i] - font, y[i], wide + font, high, GROUND);
        draw_text(sheet, x[i], y[i], text, font, INK);
    }
}

/* Draws a scale bar, 1, 2 or 5 times a power of ten long and at most a third of the plane, with its
   length beside it. */
static void draw_bar(struct sheet *sheet, const struct cell *cell, int64_t top, int font)
{
    const double length = ts_picture_round((double)cell->width * cell->pitch / 3);
    char text[64];
    const int64_t wide = llrint(length / cell->pitch),
                  middle = top + (int64_t)FONT_HEIGHT * font / 2;
    snprintf(text, sizeof text, "%g %s", length, cell->plane->unit);
    sheet_fill(sheet, cell->left, middle - font, wide, (int64_t)3 * font, INK);
    sheet_fill(sheet, cell->left, middle - 4 * font, font, (int64_t)9 * font, INK);
    sheet_fill(sheet, cell->left + wide - font, middle - 4 * font, font, (int64_t)9 * font, INK);
    draw_text(sheet, cell->left + wide + (int64_t)FONT_WIDTH * font, top, text, font, INK);
}

static void draw_lines(struct sheet *sheet, const struct cell *cell, int64_t top, int font)
{
    for (int i = 0; i < cell->n_lines; i++, top += (int64_t)FONT_HEIGHT * font)
        draw_text(sheet, cell->left, top, cell->lines[i], font, i == 0 ? INK : SHADE);
}

static void draw_cell(struct sheet *sheet, const struct cell *cell, const struct drawing *drawing)
{
    const int font = drawing->font;
    draw_plane(sheet, cell, &drawing->style);
    if (drawing->style.plain)
        return;
    const int64_t top = cell->top + cell->height + (int64_t)MARGIN * font / 2;
    draw_sides(sheet, cell, font);
    if (cell->plane->unit)
        draw_bar(sheet, cell, top, font);
    draw_lines(sheet, cell, top + bar_height(cell, font), font);
}

/* Makes the cells: one for each plane, and behind them one for the common caption of each montage.
   The caller frees *cells. */
static enum ts_status make_cells(const struct preview_images *images, struct drawing *drawing,
                                 struct cell **cells, size_t *n, size_t *n_common,
                                 struct ts_diag *diag)
{
    const bool plain = drawing->style.plain;
    size_t at = 0;
    int64_t widest = 0;
    *n = *n_common = 0;
    for (size_t i = 0; i < images->n; i++)
        *n += (size_t)images->at[i].n_planes;
    *cells = calloc(*n + images->n, sizeof **cells);
    if (!*cells)
        return ts_diag_no_memory(diag, (*n + images->n) * sizeof **cells);
    for (size_t i = 0; i < images->n; at += (size_t)images->at[i++].n_planes) {
        find_scale(&images->at[i], *n > FEW ? LEAST_MANY : LEAST, plain, *cells + at);
        if (!plain && is_montage(&images->at[i]))
            (*cells)[*n + (*n_common)++] = (*cells)[at];
    }
    for (size_t i = 0; i < *n; i++)
        widest = (*cells)[i].width > widest ? (*cells)[i].width : widest;
    drawing->font = widest >= 2 * LEAST ? 2 : 1;
    if (widest >= 3 * LEAST)
        drawing->font = 3;
    return TS_OK;
}

/* Takes memory for a sheet whose size is set. */
static enum ts_status clear_sheet(const struct preview_images *images, bool plain,
                                  struct sheet *sheet, struct ts_diag *diag)
{
    size_t bytes = 0;
    bool over = false;
    for (size_t i = 0; i < images->n; i++)
        over |= images->at[i].over_planes != NULL;
    sheet->gray =
        ts_mul_size((size_t)sheet->width, (size_t)sheet->height, &bytes) ? malloc(bytes) : NULL;
    sheet->over = over && sheet->gray ? calloc(bytes, 1) : NULL;
    if (!sheet->gray || (over && !sheet->over))
        return ts_diag_no_memory(diag, bytes);
    memset(sheet->gray, plain ? UINT8_MAX : GROUND, bytes);
    return TS_OK;
}

static enum ts_status draw_sheet(const struct preview_images *images,
                                 const struct sheet_style *style, struct sheet *sheet,
                                 struct ts_diag *diag)
{
    struct drawing drawing = {.style = *style};
    size_t n, n_common;
    int64_t size[2];
    struct cell *cells;
    enum ts_status status = make_cells(images, &drawing, &cells, &n, &n_common, diag);
    if (status != TS_OK)
        return status;
    const size_t columns = arrange(images, cells, n);
    sheet_place(cells, n, n_common, columns, &drawing, size);
    *sheet = (struct sheet){.width = size[0], .height = size[1]};
    status = clear_sheet(images, style->plain, sheet, diag);
    for (size_t i = 0; status == TS_OK && i < n; i++)
        draw_cell(sheet, &cells[i], &drawing);
    for (size_t i = n; status == TS_OK && i < n + n_common; i++)
        draw_lines(sheet, &cells[i], cells[i].top, drawing.font);
    free(cells);
    return status;
}

/* Writes a sheet over whose images something lies. */
static enum ts_status write_colored(const struct sheet *sheet, const struct overlay_style *style,
                                    const char *output, struct ts_diag *diag)
{
    uint32_t colors[OVERLAY_INKS];
    const size_t n = (size_t)sheet->width * (size_t)sheet->height;
    uint32_t *pixels = malloc(n * sizeof *pixels);
    if (!pixels)
        return ts_diag_no_memory(diag, n * sizeof *pixels);
    ts_overlay_colors(style, colors);
    for (size_t i = 0; i < n; i++)
        pixels[i] = ts_view_blend(0xFF000000u | sheet->gray[i] * 0x010101u, colors[sheet->over[i]]);
    const enum ts_status status =
        ts_png_write_rgba8(output, sheet->width, sheet->height, (const uint8_t *)pixels, diag);
    free(pixels);
    return status;
}

enum ts_status ts_sheet_write(const struct preview_images *images, const struct sheet_style *style,
                              const char *output, struct ts_diag *diag)
{
    struct sheet sheet = {0};
    enum ts_status status = draw_sheet(images, style, &sheet, diag);
    if (status == TS_OK && sheet.over)
        status = write_colored(&sheet, style->over, output, diag);
    else if (status == TS_OK)
        status = ts_png_write_gray8(output, sheet.width, sheet.height, sheet.gray, diag);
    free(sheet.gray);
    free(sheet.over);
    return status;
}

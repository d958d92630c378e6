/* SPDX-License-Identifier: Apache-2.0
 *
 * ImageJ writes lines of NAME=NUMBER behind "ImageJ=VERSION"; its images follow each other by channel, then slice, then
 * time, and a large or raw stack has one page, behind whose pixels those of all other images lie. OME-TIFF has XML with
 * the sizes and the order of the axes. tifffile writes {"shape": [...]}, with "truncated" where only the first image
 * has a page.
 */
#include "io/scan/tiff_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <tiffio.h>

/* Returns the number behind `name` at the beginning of a line, 0 where there is none. */
static uint32_t line_number(const char *text, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
        if ((at == text || at[-1] == '\n') && at[n] == '=') {
            const double number = strtod(at + n + 1, NULL);
            return number >= 1 && number < UINT32_MAX ? (uint32_t)number : 0;
        }
    return 0;
}

static void read_imagej(const char *text, struct tiff_page *page)
{
    static const char *const names[] = {"channels", "slices", "frames"};
    page->planes = line_number(text, "images");
    for (int i = 0; i < TIFF_AXES; i++) {
        const uint32_t n = line_number(text, names[i]);
        page->axes[i] = (struct tiff_plane_axis){n > 0 ? n : 1, 1};
    }
    for (int i = 1; i < TIFF_AXES; i++)
        page->axes[i].step = page->axes[i - 1].step * page->axes[i - 1].n;
}

/* Returns the value of an attribute of an element, up to where the element ends; NULL where it has none. */
static const char *attribute_of(const char *element, const char *end, const char *name)
{
    char quoted[32];
    const int n = snprintf(quoted, sizeof quoted, " %s=\"", name);
    const char *at = strstr(element, quoted);
    return at && at < end ? at + n : NULL;
}

static void read_ome(const char *text, struct tiff_page *page)
{
    static const char letters[] = "CZT";
    static const char *const names[] = {"SizeC", "SizeZ", "SizeT"};
    const char *pixels = strstr(text, "<Pixels "), *end = pixels ? strchr(pixels, '>') : NULL;
    const char *order = end ? attribute_of(pixels, end, "DimensionOrder") : NULL;
    uint64_t planes = 1;
    if (!order || strlen(order) < 5)
        return;
    for (int k = 2; k < 5; k++) { /* behind X and Y, the axis that changes fastest first */
        const char *letter = strchr(letters, order[k]);
        const char *size = letter && *letter ? attribute_of(pixels, end, names[letter - letters]) : NULL;
        const uint64_t n = size ? strtoull(size, NULL, 10) : 0;
        if (n < 1 || n > TIFF_MAX_SIDE || planes > TIFF_MAX_SIDE)
            return;
        page->axes[letter - letters] = (struct tiff_plane_axis){(uint32_t)n, (uint32_t)planes};
        planes *= n;
    }
    page->planes = (uint32_t)planes;
}

/* Only a file that is called truncated has fewer pages than images. */
static void read_shape(const char *text, struct tiff_page *page)
{
    double count = 1;
    const char *at = strchr(text, '[');
    if (!strstr(text, "\"truncated\": true"))
        return;
    while (at && *at && *at != ']') {
        char *end;
        count *= strtod(at + 1, &end);
        at = end == at + 1 ? NULL : end + strspn(end, " ");
    }
    count /= (double)page->width * page->height;
    if (at && *at == ']' && count >= 1 && count < UINT32_MAX && count == floor(count))
        page->planes = (uint32_t)count;
}

/* Returns the millimeters of a unit as ImageJ writes it, 0 for others. */
static double imagej_mm(const char *text)
{
    static const struct {
        const char *name;
        double mm;
    } units[] = {{"micron", 1e-3}, {"um", 1e-3}, {"\\u00B5m", 1e-3}, {"\xC2\xB5m", 1e-3},
                 {"\xB5m", 1e-3},  {"nm", 1e-6}, {"mm", 1},          {"cm", 10}};
    const char *at = strstr(text, "\nunit=");
    for (size_t i = 0; at && i < sizeof units / sizeof *units; i++) {
        const size_t n = strlen(units[i].name);
        if (!strncasecmp(at + 6, units[i].name, n) &&
            (at[6 + n] == '\n' || !at[6 + n] || at[6 + n] == '\r' || !strncmp(at + 6 + n, "s\n", 2)))
            return units[i].mm;
    }
    return 0;
}

/* Inches are those of a printed page. */
static void read_resolution(TIFF *handle, const char *imagej, struct tiff_page *page)
{
    uint16_t unit = RESUNIT_INCH;
    float x = 0, y = 0;
    if (!TIFFGetField(handle, TIFFTAG_XRESOLUTION, &x) || !TIFFGetField(handle, TIFFTAG_YRESOLUTION, &y))
        return;
    TIFFGetFieldDefaulted(handle, TIFFTAG_RESOLUTIONUNIT, &unit);
    const double mm = imagej ? imagej_mm(imagej) : unit == RESUNIT_CENTIMETER ? 10 : 0;
    if (mm > 0 && x > 0 && y > 0 && isfinite(x) && isfinite(y)) {
        page->pixel_mm[0] = mm / (double)y;
        page->pixel_mm[1] = mm / (double)x;
    }
}

void ts_tiff_text(struct tiff *handle, struct tiff_page *page)
{
    char *text = NULL;
    page->planes = 0;
    memset(page->axes, 0, sizeof page->axes);
    memset(page->pixel_mm, 0, sizeof page->pixel_mm);
    if (!TIFFGetField(handle, TIFFTAG_IMAGEDESCRIPTION, &text))
        text = NULL;
    const bool imagej = text && !strncmp(text, "ImageJ=", 7);
    if (imagej)
        read_imagej(text, page);
    else if (text && strstr(text, "<OME"))
        read_ome(text, page);
    else if (text && !strncmp(text, "{\"shape\":", 9))
        read_shape(text, page);
    read_resolution(handle, imagej ? text : NULL, page);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts say how many images there are, some of which have no page of their own, and of which
 * channels, slices and times. ImageJ writes lines of NAME=NUMBER behind "ImageJ=VERSION"; its
 * images follow each other by channel, then slice, then time, and a large or raw stack has one
 * page, behind whose pixels those of all other images lie. OME-TIFF has XML with the sizes, the
 * order of the axes, and which page is which image. tifffile writes {"shape": [...]}, perhaps with
 * the letters of the axes, and "truncated" if only the first image has a page.
 */
#include "io/scan/tiff_text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <tiffio.h>

/* ---- lengths --------------------------------------------------------------------------------- */

/* Returns the millimeters of a unit of n characters as ImageJ and OME write them, 0 for others. */
static double unit_mm(const char *text, size_t n)
{
    static const struct {
        const char *name;
        double mm;
    } units[] = {
        {"micron", 1e-3},    {"microns", 1e-3},    {"um", 1e-3},         {"\\u00B5m", 1e-3},
        {"\xC2\xB5m", 1e-3}, {"\xCE\xBCm", 1e-3},  {"\xB5m", 1e-3},      {"&#181;m", 1e-3},
        {"&#xB5;m", 1e-3},   {"micrometer", 1e-3}, {"micrometre", 1e-3}, {"micrometers", 1e-3},
        {"nm", 1e-6},        {"nanometer", 1e-6},  {"nanometre", 1e-6},  {"nanometers", 1e-6},
        {"mm", 1},           {"millimeter", 1},    {"millimetre", 1},    {"millimeters", 1},
        {"cm", 10},          {"centimeter", 10},   {"centimetre", 10},   {"centimeters", 10},
        {"dm", 100},         {"m", 1000},          {"meter", 1000},      {"metre", 1000},
        {"meters", 1000},    {"km", 1e6},          {"pm", 1e-9},         {"picometer", 1e-9},
        {"\xC3\x85", 1e-7},  {"\\u00C5", 1e-7},    {"&#197;", 1e-7},     {"&#xC5;", 1e-7},
        {"angstrom", 1e-7},  {"in", 25.4},         {"inch", 25.4},       {"inches", 25.4},
        {"thou", 25.4e-3},   {"mil", 25.4e-3},     {"pt", 25.4 / 72},    {"li", 25.4 / 12},
        {"ft", 304.8},       {"feet", 304.8},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == n && !strncasecmp(text, units[i].name, n))
            return units[i].mm;
    return 0;
}

/* Programs write a resolution of print, such as 72, 96, 300 or 1 per inch, without a measured
 * size. Finer ones than scanners of paper have are measured. */
static bool is_of_print(double per_inch)
{
    const double whole = round(per_inch);
    return fabs(per_inch - whole) < 1e-3 &&
           (whole == 1 ||
            (whole >= 72 && whole <= 4800 && (fmod(whole, 12) == 0 || fmod(whole, 25) == 0)));
}

/* ---- ImageJ ---------------------------------------------------------------------------------- */

/* Returns what is behind NAME= at the beginning of a line; NULL if there is no such line. */
static const char *find_line(const char *text, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
        if ((at == text || at[-1] == '\n') && at[n] == '=')
            return at + n + 1;
    return NULL;
}

/* Returns the number of a line, 0 if there is none. */
static uint32_t line_number(const char *text, const char *name)
{
    const char *at = find_line(text, name);
    const double number = at ? strtod(at, NULL) : 0;
    return number >= 1 && number < UINT32_MAX ? (uint32_t)number : 0;
}

static double imagej_mm(const char *text)
{
    const char *unit = find_line(text, "unit");
    return unit ? unit_mm(unit, strcspn(unit, "\r\n")) : 0;
}

/* Reads the number of ImageJ's function that converts stored values, and its first two
   coefficients. Images of more than 16 bits have none there, and signed ones have another zero. */
static void read_calibration(const char *text, struct tiff_page *page)
{
    const char *function = find_line(text, "cf"), *c0 = find_line(text, "c0"),
               *c1 = find_line(text, "c1");
    page->function = function
                         ? (int32_t)fmin(fmax(strtod(function, NULL), 0), TIFF_FUNCTION_NONE + 10)
                         : TIFF_FUNCTION_NONE;
    page->line[0] = c0 ? strtod(c0, NULL) : 0;
    page->line[1] = c1 ? strtod(c1, NULL) : 0;
}

static void read_imagej(const char *text, struct tiff_page *page)
{
    static const char *const names[] = {"channels", "slices", "frames"};
    enum { NAMES = sizeof names / sizeof *names };
    page->planes = line_number(text, "images");
    page->behind = true;
    page->guessed = !strncmp(text, "ImageJ=1.11a", 12); /* tifffile's */
    for (int i = 0; i < NAMES; i++) {
        const uint32_t n = line_number(text, names[i]);
        page->axes[i] = (struct tiff_plane_axis){n > 0 ? n : 1, 1};
    }
    for (int i = 1; i < NAMES; i++)
        page->axes[i].step = page->axes[i - 1].step * page->axes[i - 1].n;
    const char *spacing = find_line(text, "spacing");
    page->spacing_mm = spacing ? fabs(strtod(spacing, NULL)) * imagej_mm(text) : 0;
    read_calibration(text, page);
}

/* ---- OME-TIFF -------------------------------------------------------------------------------- */

/* Returns what is behind the next "<NAME", which may have a prefix, or "</NAME" if it is to close
 * the element; NULL if there is none before `end`. Comments are passed over. */
static const char *find_tag(const char *from, const char *end, const char *name, bool closing)
{
    const size_t n = strlen(name);
    while (from && from < end) {
        const char *tag = strchr(from, '<');
        if (!tag || tag >= end)
            return NULL;
        if (!strncmp(tag, "<!--", 4)) {
            from = strstr(tag, "-->");
            continue;
        }
        const char *at = tag + 1 + (tag[1] == '/');
        const size_t length = strcspn(at, " \t\r\n/><");
        if ((tag[1] == '/') == closing && length >= n && !strncmp(at + length - n, name, n) &&
            (length == n || at[length - n - 1] == ':'))
            return at + length;
        from = tag + 1;
    }
    return NULL;
}

/* Returns the value of an attribute of an element, up to where the element ends; NULL if it has
 * none. */
static const char *attribute_of(const char *element, const char *end, const char *name)
{
    const size_t n = strlen(name);
    const char *at = memmem(element, (size_t)(end - element), name, n);
    for (; at; at = memmem(at + 1, (size_t)(end - at - 1), name, n)) {
        const char *value = at + n;
        value += strspn(value, " \t\r\n");
        if (!isspace((unsigned char)at[-1]) || *value != '=')
            continue;
        value += 1 + strspn(value + 1, " \t\r\n");
        if (*value == '"' || *value == '\'')
            return value + 1;
    }
    return NULL;
}

/* Returns the number of an attribute, of at most TIFF_MAX_SIDE + 1. */
static uint64_t attribute_number(const char *element, const char *end, const char *name,
                                 uint64_t otherwise)
{
    const char *value = attribute_of(element, end, name);
    const uint64_t number = value ? strtoull(value, NULL, 10) : otherwise;
    return number > TIFF_MAX_SIDE ? TIFF_MAX_SIDE + 1 : number;
}

/* Returns the size of a pixel along X, Y or Z, in micrometers unless its unit is beside it; 0:
 * there is none. */
static double physical_mm(const char *pixels, const char *end, char axis)
{
    char name[24];
    snprintf(name, sizeof name, "PhysicalSize%c", axis);
    const char *size = attribute_of(pixels, end, name);
    snprintf(name, sizeof name, "PhysicalSize%cUnit", axis);
    const char *unit = attribute_of(pixels, end, name);
    const double mm =
        size ? strtod(size, NULL) * (unit ? unit_mm(unit, strcspn(unit, "\"'")) : 1e-3) : 0;
    return mm > 0 && isfinite(mm) ? mm : 0;
}

static void read_ome_sizes(const char *pixels, const char *end, struct tiff_page *page)
{
    const double x = physical_mm(pixels, end, 'X'), y = physical_mm(pixels, end, 'Y');
    if (x > 0 && y > 0) {
        page->pixel_mm[0] = y;
        page->pixel_mm[1] = x;
    }
    page->spacing_mm = physical_mm(pixels, end, 'Z');
}

/* What the TiffData of a file say. They are contradictory if they are of several files and none of
 * these is known to be this one, or name an image that is not there, or two for one page. */
struct mapping {
    struct tiff_library *library;
    const char *own; /* UUID of the file; NULL: it has none */
    bool known;      /* it is not that of the first TiffData */
    bool contradictory;
    struct tiff_page image; /* the axes and the number of images of the Pixels that are read */
    uint64_t before;        /* images of those before */
};

static bool same_uuid(const char *a, const char *b)
{
    const size_t n = strcspn(a, "\"'<> \t\r\n");
    return n == strcspn(b, "\"'<> \t\r\n") && !strncmp(a, b, n);
}

/* Returns true if a TiffData, which ends at `close`, is about another file of a set. If the file
 * has no UUID, the first one is taken for its own. */
static bool is_elsewhere(struct mapping *map, const char *end, const char *close)
{
    const char *uuid = close ? find_tag(end, close, "UUID", false) : NULL;
    uuid = uuid ? strchr(uuid, '>') : NULL;
    if (!uuid)
        return false;
    uuid += 1 + strspn(uuid + 1, " \t\r\n");
    map->own = map->own ? map->own : uuid;
    const bool elsewhere = !same_uuid(uuid, map->own);
    map->contradictory |= elsewhere && !map->known;
    return elsewhere;
}

/* Notes which images the pages of a TiffData are. The images of several pages follow each other in
 * the order of the axes. */
static void add_pages(struct mapping *map, const char *element, const char *end)
{
    static const char *const firsts[] = {"FirstC", "FirstZ", "FirstT"};
    struct tiff_library *library = map->library;
    const struct tiff_page *page = &map->image;
    const bool numbered = attribute_of(element, end, "IFD") != NULL;
    const uint64_t first = attribute_number(element, end, "IFD", 0),
                   old = attribute_number(element, end, "NumPlanes", 0), /* before 2009 */
        count = attribute_number(element, end, "PlaneCount", old > 0 ? old : numbered);
    uint64_t image = 0;
    for (int i = 0; i < (int)(sizeof firsts / sizeof *firsts); i++) {
        const uint64_t at = attribute_number(element, end, firsts[i], 0);
        map->contradictory |= at >= page->axes[i].n;
        image += at * page->axes[i].step;
    }
    const uint64_t n = count > 0 ? count : page->planes - (image < page->planes ? image : 0);
    map->contradictory |= image + n > page->planes || first + n > TIFF_MAX_SIDE;
    for (uint64_t k = 0; k < n && !map->contradictory; k++) {
        map->contradictory = library->planes[first + k] != 0;
        library->planes[first + k] = (uint32_t)(map->before + image + k + 1);
    }
    if (!map->contradictory && first + n > library->n_planes)
        library->n_planes = (uint32_t)(first + n);
}

/* Fills library->planes from the TiffData of a Pixels, which ends at `last`. Without one the pages
 * are the images in their order. Returns true if any is about this file. */
static bool read_planes(struct mapping *map, const char *pixels_end, const char *last)
{
    struct tiff_library *library = map->library;
    bool here = false;
    if (!library->planes)
        library->planes = calloc(TIFF_MAX_SIDE, sizeof *library->planes);
    if (!library->planes)
        return false;
    const char *next;
    for (const char *at = find_tag(pixels_end, last, "TiffData", false); at && !map->contradictory;
         at = next) {
        const char *end = strchr(at, '>');
        if (!end)
            break;
        next = find_tag(end, last, "TiffData", false);
        const char *close =
            end[-1] != '/' ? find_tag(end, next ? next : last, "TiffData", true) : NULL;
        if (is_elsewhere(map, end, close))
            continue;
        add_pages(map, at, end);
        here = true;
    }
    return here;
}

/* Reads the axes of a Pixels. Returns false if they are not given. */
static bool read_axes(const char *pixels, const char *end, struct tiff_page *image)
{
    static const char letters[] = "CZT";
    static const char *const names[] = {"SizeC", "SizeZ", "SizeT"};
    const char *order = attribute_of(pixels, end, "DimensionOrder");
    uint64_t planes = 1;
    if (!order || strlen(order) < 5)
        return false;
    for (int k = 2; k < 5; k++) { /* behind X and Y, the axis that changes fastest first */
        const char *letter = strchr(letters, order[k]);
        const uint64_t n =
            letter && *letter ? attribute_number(pixels, end, names[letter - letters], 0) : 0;
        if (n < 1 || n > TIFF_MAX_SIDE || planes > TIFF_MAX_SIDE) {
            memset(image->axes, 0, sizeof image->axes);
            return false;
        }
        image->axes[letter - letters] = (struct tiff_plane_axis){(uint32_t)n, (uint32_t)planes};
        planes *= n;
    }
    image->planes = (uint32_t)planes;
    return true;
}

/* Takes what a Pixels says of its images for what the file says. */
static void take_image(const struct tiff_page *image, struct tiff_page *page)
{
    memcpy(page->axes, image->axes, sizeof page->axes);
    memcpy(page->pixel_mm, image->pixel_mm, sizeof page->pixel_mm);
    page->spacing_mm = image->spacing_mm;
    page->planes = image->planes;
}

/* Notes which file has the text of one that has pixels only. */
static void read_companion(struct tiff_library *library, const char *text, const char *text_end)
{
    const char *only = find_tag(text, text_end, "BinaryOnly", false),
               *end = only ? strchr(only, '>') : NULL,
               *name = end ? attribute_of(only, end, "MetadataFile") : NULL;
    if (only)
        snprintf(library->reply->companion, sizeof library->reply->companion, "%.*s",
                 name ? (int)strcspn(name, "\"'<>") : 12, name ? name : "another file");
}

/* Reads all Pixels that are of this file, or the first one if none is. */
static void read_ome(struct tiff_library *library, const char *text)
{
    struct tiff_page *page = &library->page;
    const char *text_end = text + strlen(text), *root = find_tag(text, text_end, "OME", false),
               *root_end = root ? strchr(root, '>') : NULL, *next;
    struct mapping map = {.library = library,
                          .own = root_end ? attribute_of(root, root_end, "UUID") : NULL};
    map.known = map.own != NULL;
    page->guessed = strstr(text, "Creator=\"tifffile.py") != NULL;
    read_companion(library, text, text_end);
    for (const char *at = find_tag(text, text_end, "Pixels", false), *first = at;
         at && map.before <= TIFF_MAX_SIDE; at = find_tag(next, text_end, "Pixels", false)) {
        const char *end = strchr(at, '>');
        if (!end)
            break;
        const char *last = end[-1] == '/' ? NULL : find_tag(end, text_end, "Pixels", true);
        next = last ? last : end;
        map.image = (struct tiff_page){.pixel_mm = {page->pixel_mm[0], page->pixel_mm[1]}};
        read_ome_sizes(at, end, &map.image);
        const bool whole = read_axes(at, end, &map.image),
                   here = whole && last && read_planes(&map, end, last);
        if (at == first || (here && page->images == 0))
            take_image(&map.image, page);
        if (!here)
            continue;
        if (page->images < 2)
            page->image_planes[page->images] = map.image.planes;
        page->images++;
        map.before += map.image.planes;
    }
    if (page->images > 1)
        page->planes = (uint32_t)map.before;
    if (map.contradictory && library->planes) {
        library->planes[0] = TIFF_NO_PLANE;
        library->n_planes = 1;
    }
}

/* ---- tifffile -------------------------------------------------------------------------------- */

enum { MOST_SIZES = 16 };

/* Reads the sizes of {"shape": [...]}. Returns how many there are, 0 if they cannot be read. */
static int read_sizes(const char *text, double sizes[MOST_SIZES])
{
    const char *at = strchr(text, '[');
    int n = 0;
    while (at && *at && *at != ']' && n < MOST_SIZES) {
        char *end;
        sizes[n++] = strtod(at + 1, &end);
        at = end == at + 1 ? NULL : end + strspn(end, " ");
    }
    return at && *at == ']' ? n : 0;
}

/* Adds an axis of tifffile's letter. One that is none of channels, slices and times may be the
 * slices, if no axis is. */
static void add_axis(struct tiff_page *page, char letter, bool has_slices, uint32_t n,
                     uint32_t step)
{
    const int axis = letter == 'C'                  ? TIFF_CHANNELS
                     : letter == 'T'                ? TIFF_TIMES
                     : letter == 'Z' || !has_slices ? TIFF_SLICE_AXIS
                                                    : TIFF_OTHERS;
    struct tiff_plane_axis *to = &page->axes[axis];
    if (to->n > 1 && axis == TIFF_SLICE_AXIS)
        to = &page->axes[TIFF_OTHERS];
    *to = to->n > 1 ? (struct tiff_plane_axis){to->n * n, to->step}
                    : (struct tiff_plane_axis){n, step};
}

/* The last two sizes are those of the page. Only a file that is called truncated has fewer pages
 * than images; others may have more, in shapes of their own. */
static void read_shape(const char *text, struct tiff_page *page)
{
    double sizes[MOST_SIZES], planes = 1;
    const int n = read_sizes(text, sizes);
    const char *axes = strstr(text, "\"axes\": \"");
    axes = axes ? axes + strlen("\"axes\": \"") : NULL;
    const bool named = axes && strcspn(axes, "\"") == (size_t)n,
               has_slices = named && memchr(axes, 'Z', (size_t)n);
    if (n < 2 || sizes[n - 1] != page->width || sizes[n - 2] != page->height)
        return;
    for (int i = 0; i < n - 2; i++) {
        planes *= sizes[i];
        if (!(planes >= 1) || planes > TIFF_MAX_SIDE || planes != floor(planes))
            return;
    }
    for (int i = 0; i < TIFF_AXES; i++)
        page->axes[i] = (struct tiff_plane_axis){1, 1};
    uint32_t step = 1;
    for (int i = n - 3; i >= 0; i--) {
        if (sizes[i] > 1)
            add_axis(page, named ? axes[i] : 'Q', has_slices, (uint32_t)sizes[i], step);
        step *= (uint32_t)sizes[i];
    }
    page->behind = strstr(text, "\"truncated\": true") != NULL;
    page->planes = page->behind ? (uint32_t)planes : 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The unit of ImageJ's text is that of its resolution, too. */
static void read_resolution(TIFF *handle, const char *imagej, struct tiff_page *page)
{
    uint16_t unit = RESUNIT_INCH;
    float x = 0, y = 0;
    if (!TIFFGetField(handle, TIFFTAG_XRESOLUTION, &x) ||
        !TIFFGetField(handle, TIFFTAG_YRESOLUTION, &y))
        return;
    TIFFGetFieldDefaulted(handle, TIFFTAG_RESOLUTIONUNIT, &unit);
    const double mm = imagej && find_line(imagej, "unit") ? imagej_mm(imagej)
                      : unit == RESUNIT_CENTIMETER        ? 10
                      : unit == RESUNIT_INCH              ? 25.4
                                                          : 0;
    if (mm > 0 && x > 0 && y > 0 && isfinite(x) && isfinite(y) &&
        !(mm == 25.4 && is_of_print((double)x) && is_of_print((double)y))) {
        page->pixel_mm[0] = mm / (double)y;
        page->pixel_mm[1] = mm / (double)x;
    }
}

/* Reads the text of a tag that libtiff does not know. */
static void read_unknown(TIFF *handle, uint32_t tag, char *text, size_t size)
{
    uint32_t n = 0;
    const char *found = NULL;
    text[0] = '\0';
    if (TIFFGetField(handle, tag, &n, &found) && found)
        snprintf(text, size, "%.*s", (int)fmin(n, (double)(size - 1)), found);
}

/* Returns the number of an item of GDAL's metadata with this role, of the first channel. */
static double gdal_number(const char *text, const char *role, double otherwise)
{
    const char *item = strstr(text, role), *number = item ? strchr(item, '>') : NULL;
    char *end;
    const double value = number ? strtod(number + 1, &end) : 0;
    return number && end > number + 1 && isfinite(value) ? value : otherwise;
}

static void read_gdal(TIFF *handle, struct tiff_page *page)
{
    enum { METADATA = 42112, MISSING = 42113 };
    char text[4096], *end;
    read_unknown(handle, METADATA, text, sizeof text);
    page->gdal_offset = gdal_number(text, "role=\"offset\"", 0);
    page->gdal_scale = gdal_number(text, "role=\"scale\"", 1);
    read_unknown(handle, MISSING, text, sizeof text);
    page->gdal_missing = strtod(text, &end);
    if (end == text)
        page->gdal_missing = NAN;
}

void ts_tiff_text_read(struct tiff_library *library)
{
    struct tiff_page *page = &library->page;
    char *text = NULL;
    page->function = TIFF_FUNCTION_NONE;
    if (!TIFFGetField(library->handle, TIFFTAG_IMAGEDESCRIPTION, &text))
        text = NULL;
    read_gdal(library->handle, page);
    const bool imagej = text && !strncmp(text, "ImageJ=", 7);
    read_resolution(library->handle, imagej ? text : NULL, page);
    if (imagej)
        read_imagej(text, page);
    else if (text && find_tag(text, text + strlen(text), "OME", false))
        read_ome(library, text);
    else if (text && !strncmp(text, "{\"shape\":", 9))
        read_shape(text, page);
}

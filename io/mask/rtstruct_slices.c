/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads the points of the wanted regions and fills their contours, slice by slice. A contour
 * belongs to the slice in whose plane it lies. Where planes are resampled it reaches half of the
 * distance to the nearest other plane of its region to both sides, or half a slice where the region
 * has one plane: a slice then has the contours of the nearest plane. Within a plane nothing
 * is resampled: contour_cross has the rule.
 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "io/mask/contour_pair.h"
#include "io/mask/rtstruct.h"

/* ---- filling --------------------------------------------------------------------------------- */

/* A pixel belongs to the region if its center is inside an odd number of its contours (the even-odd
 * rule, so that a contour within another one is a hole). A center on the boundary belongs to the
 * region if the region lies towards greater x, or on a boundary along x towards greater y: so
 * regions that share an edge share no pixel, and leave none out. This is scan conversion by
 * crossings: each edge that a row's line through the pixel centers meets marks the first center
 * behind it, and the parity of the marks up to a pixel says whether it is inside. Marks of several
 * contours add up modulo 2. Nothing is sorted, and nothing is allocated. Source: J. D. Foley et
 * al., Computer Graphics: Principles and Practice, 2nd ed. (1990), 3.6. */

static double clamped(double value, double low, double high)
{
    if (value < low)
        return low;
    return value > high ? high : value;
}

/* The corners are ordered by y, so that an edge which two contours share crosses each row at the
 * same x in both. */
static void cross_edge(const double *a, const double *b, unsigned char *crossings, int64_t nx,
                       int64_t ny)
{
    const double *low = a[1] < b[1] ? a : b, *high = a[1] < b[1] ? b : a;
    const int64_t first = (int64_t)clamped(ceil(low[1]), 0, (double)ny);
    const int64_t end = (int64_t)clamped(ceil(high[1]), 0, (double)ny);
    const double slope = (high[0] - low[0]) / (high[1] - low[1]);
    for (int64_t y = first; y < end; y++) {
        const double x = low[0] + ((double)y - low[1]) * slope;
        crossings[y * (nx + 1) + (int64_t)clamped(ceil(x), 0, (double)nx)] ^= 1;
    }
}

/* Exchanges inside and outside for the pixels in the polygon of n corners (x, y), which closes
 * itself. Pixel centers are at whole numbers. `crossings` has ny rows of nx + 1 marks:
 * crossings[y][x] is 1 if the boundary is crossed an odd number of times between the centers x - 1
 * and x of row y. */
static void contour_cross(const double *corners, size_t n, unsigned char *crossings, int64_t nx,
                          int64_t ny)
{
    for (size_t i = 0; i < n; i++) {
        const double *a = corners + 2 * i, *b = corners + 2 * (i + 1 < n ? i + 1 : 0);
        if (a[1] != b[1])
            cross_edge(a, b, crossings, nx, ny);
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

enum { MOST_POINTS = 1 << 22 };

/* A contour is in a plane of slices within this share of their distance. */
static const double TOLERANCE = 0.1;
/* Contours whose planes are less than this apart, in slices, lie in one plane. */
static const double SAME_PLANE = 0.02;
/* A slice in the middle between two planes belongs to the one after, whatever rounding says. */
static const double SLACK = 1e-6;
/* A plane that is more than this many of the region's usual distances away from all others reaches
 * half of a usual one. */
static const double FAR_PLANE = 2.5;
/* What comparing contours may cost: a pair counts one, and where their boxes meet their crossings
 * with lines. */
static const double MOST_WORK = 1 << 28;
/* No scanned object lies a kilometer away. */
static const double MOST_MM = 1e6;

struct filled_contour {
    int32_t label;
    double plane;     /* in slices */
    double low, high; /* it belongs to slices of [low, high) */
    size_t first, n;  /* its corners */
    struct contour_outline outline;
    bool exclusive;
    bool copy; /* of another one, to be left out */
};

struct rtstruct_file {
    struct mask_file base;
    struct stat found;
    const struct ts_image *grid;
    struct filled_contour *contours; /* sorted by label, then by plane */
    size_t n_contours;
    double *corners; /* x and y of each, as indices */
    size_t n_corners, corners_capacity;
    unsigned char *crossings;
    int32_t *kept; /* labels of slices [kept_low, kept_high), which have the same contours; NULL:
                      none are kept */
    double kept_low, kept_high;
};

/* ---- points ---------------------------------------------------------------------------------- */

struct point_reader {
    struct region_file *file;
    const struct mask_request *request;
    struct rtstruct_file *set;
    struct ts_affine to_index;
    locale_t c_locale;
    char *text; /* one value of the file */
    size_t text_bytes;
};

static enum ts_status refuse_points(const struct point_reader *reader, size_t contour,
                                    const char *what)
{
    return ts_mask_refuse(&reader->set->base, "rtstruct-points", reader->request->diag,
                          "has contour %zu %s", contour + 1, what);
}

/* Reads one decimal of the text up to a backslash or the end. Returns NULL if it is none. */
static const char *read_decimal(const struct point_reader *reader, const char *text, double *value)
{
    char *end;
    text += strspn(text, " ");
    if (!strchr("0123456789+-.", *text) || *text == '\0')
        return NULL; /* the C library's function would accept nan, inf and hexadecimal too */
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return NULL;
    *value = strtod_l(text, &end, reader->c_locale);
    end += strspn(end, " ");
    return end != text && (*end == '\\' || *end == '\0') && fabs(*value) <= MOST_MM ? end : NULL;
}

/* Makes room for n more corners, in steps that double. */
static bool make_room(struct rtstruct_file *set, size_t n)
{
    size_t capacity = set->corners_capacity > 0 ? set->corners_capacity : 1024;
    while (capacity < set->n_corners + n)
        capacity *= 2;
    if (capacity == set->corners_capacity)
        return true;
    double *grown = realloc(set->corners, 2 * capacity * sizeof *grown);
    if (!grown)
        return false;
    set->corners = grown;
    set->corners_capacity = capacity;
    return true;
}

/* Brings the value into reader->text, which ends in a zero. */
static bool load_text(struct point_reader *reader, const struct dicom_place *data)
{
    if (reader->text_bytes <= data->length) {
        free(reader->text);
        reader->text_bytes = (size_t)data->length + 1;
        reader->text = malloc(reader->text_bytes);
        reader->text_bytes = reader->text ? reader->text_bytes : 0;
    }
    if (!reader->text ||
        !ts_dicom_read(&reader->file->scan.reader, data->offset, reader->text, data->length))
        return false;
    reader->text[data->length] = '\0';
    return true;
}

static enum ts_status refuse_size(const struct rtstruct_file *set, struct ts_diag *diag)
{
    return ts_mask_refuse(&set->base, "rtstruct-size", diag,
                          "has more than %d points, which are not read at once", (int)MOST_POINTS);
}

/* Adds up the points that the wanted contours claim, so that a file with too many is refused before
   any is read. */
static bool claims_too_many(const struct rtstruct *from, int64_t roi)
{
    int64_t claimed = 0;
    for (size_t i = 0; i < from->n_contours; i++)
        if ((roi < 0 || from->contours[i].roi == roi) && from->contours[i].n_points > 0 &&
            from->contours[i].n_points <= DICOM_MAX_VALUE_BYTES)
            claimed += from->contours[i].n_points;
    return claimed > MOST_POINTS;
}

static size_t count_numbers(const char *text, size_t bytes)
{
    size_t n = bytes > 0;
    for (const char *at = text, *end = text + bytes;
         (at = memchr(at, '\\', (size_t)(end - at))) != NULL; at++)
        n++;
    return n;
}

/* Reads the points of contour `i` to corners, and the range of slices that they are in. */
static enum ts_status read_points(struct point_reader *reader, size_t i,
                                  const struct rtstruct_contour *from, struct filled_contour *to,
                                  double z[2])
{
    struct rtstruct_file *set = reader->set;
    if (!load_text(reader, &from->data))
        return refuse_points(reader, i, "whose points cannot be read");
    const size_t numbers = count_numbers(reader->text, from->data.length), n = numbers / 3;
    if (numbers == 0 || numbers % 3 != 0 || (from->n_points >= 0 && (size_t)from->n_points != n))
        return refuse_points(reader, i, "with another number of coordinates than it claims");
    if (set->n_corners + n > MOST_POINTS)
        return refuse_size(set, reader->request->diag);
    if (!make_room(set, n))
        return ts_diag_no_memory(reader->request->diag, n * 2 * sizeof(double));
    to->first = set->n_corners;
    to->n = n;
    const char *text = reader->text;
    for (size_t k = 0; k < n; k++) {
        double mm[3], index[3];
        for (int d = 0; d < 3; d++) {
            text = read_decimal(reader, text, &mm[d]);
            if (!text)
                return refuse_points(reader, i,
                                     "with a coordinate that is no decimal number of mm");
            text += *text == '\\';
        }
        ts_affine_apply(&reader->to_index, mm, index);
        set->corners[2 * set->n_corners] = index[0];
        set->corners[2 * set->n_corners + 1] = index[1];
        set->n_corners++;
        z[0] = k == 0 || index[2] < z[0] ? index[2] : z[0];
        z[1] = k == 0 || index[2] > z[1] ? index[2] : z[1];
    }
    return TS_OK;
}

/* ---- planes ---------------------------------------------------------------------------------- */

/* Compares contours by label, plane and corners, so that copies become neighbors. */
static int by_label_and_plane(const void *a, const void *b)
{
    const struct filled_contour *one = a, *other = b;
    if (one->label != other->label)
        return one->label < other->label ? -1 : 1;
    if (one->plane != other->plane)
        return one->plane < other->plane ? -1 : 1;
    if (one->n != other->n)
        return one->n < other->n ? -1 : 1;
    return one->n == 0
               ? 0
               : memcmp(one->outline.corners, other->outline.corners, 2 * one->n * sizeof(double));
}

/* Drops copies from sorted contours, since by the even-odd rule two copies would cancel out.
   Returns how many there were. */
static size_t drop_copies(struct rtstruct_file *set)
{
    const size_t all = set->n_contours;
    set->n_contours = 0;
    for (size_t i = 0; i < all; i++) {
        const struct filled_contour *contour = &set->contours[i], *before = contour - (i > 0);
        if (i == 0 || contour->exclusive || before->exclusive ||
            by_label_and_plane(before, contour) != 0)
            set->contours[set->n_contours++] = *contour;
    }
    return all - set->n_contours;
}

/* Marks near copies of the contours of one label, which are sorted by plane, and counts pairs that
 * cross. Planes are one that belong to one slice or, where they are resampled, `near` apart. False:
 * there are too many pairs. */
static bool compare_contours(struct filled_contour *contours, size_t n, double near, double *left,
                             size_t *crossed)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n && !contours[i].copy; k++) {
            const struct filled_contour *one = &contours[i];
            struct filled_contour *other = &contours[k];
            if (near > 0 ? other->plane - one->plane > near : rint(other->plane) > rint(one->plane))
                break;
            if (--*left < 0)
                return false;
            if (one->exclusive || other->exclusive || other->copy)
                continue;
            const enum contour_relation is =
                ts_contour_relate(&one->outline, &other->outline, left);
            other->copy = is == CONTOURS_REPEAT;
            *crossed += is == CONTOURS_CROSS;
        }
    return true;
}

/* Returns the index after the last contour that has the label of contour i; contours are sorted
 * by label. */
static size_t end_of_label(const struct rtstruct_file *set, size_t i)
{
    size_t end = i + 1;
    while (end < set->n_contours && set->contours[end].label == set->contours[i].label)
        end++;
    return end;
}

/* Gives contours of one label that lie in one plane, to rounding, the same number for it; returns
 * the median distance of neighboring planes, 1 where there is one plane. Planes that are nearer
 * than contours need lie to their slice count only where most are. `gaps` holds n. */
static double join_planes(struct filled_contour *contours, size_t n, double *gaps)
{
    size_t n_gaps = 0;
    for (size_t i = 1; i < n; i++)
        if (contours[i].plane - contours[i - 1].plane < SAME_PLANE)
            contours[i].plane = contours[i - 1].plane;
        else
            gaps[n_gaps++] = contours[i].plane - contours[i - 1].plane;
    qsort(gaps, n_gaps, sizeof *gaps, ts_compare_doubles);
    size_t near = 0;
    while (near < n_gaps && gaps[near] < 0.99 * TOLERANCE)
        near++;
    near = 4 * (n_gaps - near) < n_gaps ? 0 : near;
    return n_gaps > 0 ? gaps[near + (n_gaps - near) / 2] : 1;
}

/* Gives the contours of one label, which are sorted, their slices: half of the distance of the
 * nearest plane around. */
static void spread_planes(struct filled_contour *contours, size_t n, double usual)
{
    for (size_t i = 0, end; i < n; i = end) {
        const double plane = contours[i].plane;
        for (end = i + 1; end < n && contours[end].plane == plane;)
            end++;
        double distance = i > 0 ? plane - contours[i - 1].plane : INFINITY;
        if (end < n)
            distance = fmin(distance, contours[end].plane - plane);
        if (!(distance <= FAR_PLANE * usual))
            distance = usual;
        const double low = plane - 0.5 * distance - SLACK, high = plane + 0.5 * distance - SLACK;
        for (size_t k = i; k < end; k++) {
            contours[k].low = i > 0 ? fmax(low, contours[i - 1].high) : low;
            contours[k].high = high;
        }
    }
}

/* Warns of slices between the first and the last of a region in which it has no contour. */
static void warn_of_gaps(const struct rtstruct_file *set, struct ts_diag *diag)
{
    const double nz = (double)set->grid->axes[0].n;
    size_t gaps = 0, regions = 0;
    int64_t slices = 0;
    for (size_t i = 0, end; i < set->n_contours; i = end) {
        const size_t before = gaps;
        double reached = INFINITY;
        end = end_of_label(set, i);
        for (size_t k = i; k < end; k++) {
            const double first = clamped(ceil(set->contours[k].low), 0, nz);
            gaps += first > reached;
            slices += first > reached ? (int64_t)(first - reached) : 0;
            reached = fmax(k > i ? reached : 0, clamped(ceil(set->contours[k].high), 0, nz));
        }
        regions += gaps > before;
    }
    if (gaps == 0)
        return;
    ts_diag_warning(diag, &(struct diag_site){.code = "contours-gaps", .stage = set->base.site},
                    "%" PRId64
                    " slices between the first and the last of a region have none of its "
                    "contours (%zu gaps, in %zu regions): it has no pixel there",
                    slices, gaps, regions);
    ts_diag_hint(diag, "nothing is interpolated between contours: that is right for parts that "
                       "lie apart; else draw the contours that are missing");
}

/* Drops contours that repeat others of their plane but for rounding, and warns of those that cross.
 * Gives them their slices, where planes are resampled. */
static enum ts_status compare_planes(struct rtstruct_file *set, const struct mask_request *request,
                                     size_t copies)
{
    double *gaps = malloc((set->n_contours + 1) * sizeof *gaps), left = MOST_WORK;
    size_t crossed = 0, kept = 0;
    bool compared = true;
    const struct diag_site copied = {.code = "contours-copied", .stage = set->base.site},
                           crossing = {.code = "contours-crossing", .stage = set->base.site};
    if (!gaps)
        return ts_diag_no_memory(request->diag, set->n_contours * sizeof *gaps);
    for (size_t i = 0, end; i < set->n_contours; i = end) {
        end = end_of_label(set, i);
        const double usual = join_planes(set->contours + i, end - i, gaps);
        compared &= compare_contours(set->contours + i, end - i,
                                     request->nearest ? fmin(2 * TOLERANCE, 0.5 * usual) : 0, &left,
                                     &crossed);
        const size_t first = kept;
        for (size_t k = i; k < end; k++)
            if (!set->contours[k].copy)
                set->contours[kept++] = set->contours[k];
        copies += end - i - (kept - first);
        if (request->nearest)
            spread_planes(set->contours + first, kept - first,
                          join_planes(set->contours + first, kept - first, gaps));
    }
    free(gaps);
    set->n_contours = kept;
    if (copies > 0)
        ts_diag_warning(
            request->diag, &copied,
            "%zu contours are copies of others in their planes, or nearly so: they were "
            "left out, since two of a kind would make a hole",
            copies);
    if (crossed > 0 || !compared) {
        ts_diag_warning(request->diag, &crossing,
                        compared
                            ? "%zu pairs of contours of a region cross in their plane: what is "
                              "inside both is outside of the region, as in a hole"
                            : "%zu pairs of contours of a region were found to cross, and there "
                              "are too many to compare them all",
                        crossed);
        ts_diag_hint(request->diag, "draw the region as one contour where its parts overlap");
    }
    return TS_OK;
}

/* Finds the slices of the contours, whose planes are known. */
static enum ts_status find_slices(struct rtstruct_file *set, const struct mask_request *request)
{
    size_t outside = 0;
    for (size_t i = 0; i < set->n_contours; i++) {
        struct filled_contour *contour = &set->contours[i];
        const double slice = rint(contour->plane);
        const bool on_slice = fabs(contour->plane - slice) <= TOLERANCE;
        if (!request->nearest) {
            contour->low = slice - 0.5;
            contour->high = slice + 0.5;
        }
        outside += (!request->nearest && !on_slice) || contour->high <= (double)request->z_first ||
                   contour->low > (double)(request->z_end - 1);
    }
    if (outside == 0 || (request->nearest && outside < set->n_contours))
        return TS_OK;
    ts_mask_refuse(&set->base, "mask-outside", request->diag,
                   "has %zu of %zu contours on no slice of the image", outside, set->n_contours);
    return ts_diag_hint(
        request->diag, "`on:` names the image that it was drawn on%s",
        request->nearest ? "" : "; `resample: nearest` takes the contours of the nearest plane");
}

/* Reads all contours of the wanted regions: of `roi`, or of all if it is -1. */
static enum ts_status take_contours(struct point_reader *reader, const struct rtstruct *from,
                                    int64_t roi)
{
    struct rtstruct_file *set = reader->set;
    struct ts_diag *diag = reader->request->diag;
    size_t open = 0;
    if (claims_too_many(from, roi))
        return refuse_size(set, diag);
    set->contours = malloc((from->n_contours + 1) * sizeof *set->contours);
    if (!set->contours)
        return ts_diag_no_memory(diag, from->n_contours * sizeof *set->contours);
    for (size_t i = 0; i < from->n_contours; i++) {
        const struct rtstruct_contour *contour = &from->contours[i];
        struct filled_contour *to = &set->contours[set->n_contours];
        double z[2] = {0, 0};
        if (roi >= 0 && contour->roi != roi)
            continue;
        open += !contour->closed;
        if (!contour->closed)
            continue;
        if (contour->moved) {
            refuse_points(reader, i, "with a Contour Offset Vector, by which it is not moved");
            return ts_diag_hint(diag, "the attribute is retired: add it to the points in another "
                                      "program and leave it out");
        }
        const enum ts_status status = read_points(reader, i, contour, to, z);
        if (status != TS_OK)
            return status;
        if (!(z[1] - z[0] <= TOLERANCE))
            return refuse_points(reader, i, "whose points do not lie in a plane of slices");
        to->label = roi >= 0 ? 1 : (int32_t)contour->roi;
        to->plane = 0.5 * (z[0] + z[1]);
        to->exclusive = contour->exclusive;
        to->copy = false;
        set->n_contours++;
    }
    if (set->n_contours == 0)
        return ts_mask_refuse(&set->base, "mask-empty", diag,
                              "has no closed contour of that region");
    if (open > 0)
        ts_diag_warning(diag, &(struct diag_site){.code = "contours-open", .stage = set->base.site},
                        "%zu contours that are not closed, such as points, were left out", open);
    for (size_t i = 0; i < set->n_contours; i++)
        set->contours[i].outline =
            ts_contour_outline(set->corners + 2 * set->contours[i].first, set->contours[i].n);
    qsort(set->contours, set->n_contours, sizeof *set->contours, by_label_and_plane);
    enum ts_status status = compare_planes(set, reader->request, drop_copies(set));
    if (status == TS_OK)
        status = find_slices(set, reader->request);
    if (status == TS_OK)
        warn_of_gaps(set, diag);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Sets the label of pixels with an odd number of marks before them. */
static enum ts_status rtstruct_slices_fill(const struct rtstruct_file *set, int32_t label,
                                           int64_t z, int32_t *labels, struct ts_diag *diag)
{
    const int64_t nx = set->grid->axes[2].n, ny = set->grid->axes[1].n;
    for (int64_t y = 0; y < ny; y++) {
        const unsigned char *row = set->crossings + y * (nx + 1);
        unsigned char inside = 0;
        for (int64_t x = 0; x < nx; x++) {
            inside ^= row[x];
            int32_t *at = &labels[y * nx + x];
            if (inside && *at != 0)
                return ts_mask_overlap(&set->base, z, *at, label, "roi:", diag);
            *at = inside ? label : *at;
        }
    }
    return TS_OK;
}

static size_t crossings_bytes(const struct rtstruct_file *set)
{
    return (size_t)(set->grid->axes[2].n + 1) * (size_t)set->grid->axes[1].n;
}

/* Fills the contours of slice z. */
static enum ts_status fill_slice(struct rtstruct_file *set, int64_t z, int32_t *labels,
                                 struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    for (size_t i = 0; i < set->n_contours && status == TS_OK;) {
        const int32_t label = set->contours[i].label;
        bool met = false;
        for (; i < set->n_contours && set->contours[i].label == label; i++) {
            const struct filled_contour *contour = &set->contours[i];
            if (!((double)z >= contour->low && (double)z < contour->high))
                continue;
            if (!met)
                memset(set->crossings, 0, crossings_bytes(set));
            met = true;
            contour_cross(set->corners + 2 * contour->first, contour->n, set->crossings,
                          set->grid->axes[2].n, set->grid->axes[1].n);
        }
        if (met)
            status = rtstruct_slices_fill(set, label, z, labels, diag);
    }
    return status;
}

/* Slices between two planes that are resampled have the same contours, which may be millions of
 * points: they are filled once. */
static enum ts_status read_slice(struct mask_file *base, int64_t z, int32_t *labels,
                                 struct ts_diag *diag)
{
    struct rtstruct_file *set = (struct rtstruct_file *)base;
    const size_t bytes = ts_slice_count(set->grid) * sizeof *labels;
    const double place = (double)z;
    if (set->kept && place >= set->kept_low && place < set->kept_high) {
        memcpy(labels, set->kept, bytes);
        return TS_OK;
    }
    const enum ts_status status = fill_slice(set, z, labels, diag);
    if (status != TS_OK || !set->kept)
        return status;
    set->kept_low = -INFINITY;
    set->kept_high = INFINITY;
    for (size_t i = 0; i < set->n_contours; i++)
        for (int k = 0; k < 2; k++) {
            const double end = k ? set->contours[i].high : set->contours[i].low;
            set->kept_low = end <= place ? fmax(set->kept_low, end) : set->kept_low;
            set->kept_high = end > place ? fmin(set->kept_high, end) : set->kept_high;
        }
    memcpy(set->kept, labels, bytes);
    return TS_OK;
}

static size_t memory_bytes(const struct mask_file *base)
{
    const struct rtstruct_file *set = (const struct rtstruct_file *)base;
    return crossings_bytes(set) + (set->kept ? ts_slice_count(set->grid) * sizeof *set->kept : 0) +
           2 * set->corners_capacity * sizeof(double) + set->n_contours * sizeof *set->contours;
}

static enum ts_status check_unchanged(const struct mask_file *base, struct ts_diag *diag)
{
    return ts_mask_check_found(base, &((const struct rtstruct_file *)base)->found, diag);
}

static bool rtstruct_slices_holds(const struct mask_file *base, const struct file_set *files)
{
    const struct stat *found = &((const struct rtstruct_file *)base)->found;
    return ts_file_set_has(files, found->st_dev, found->st_ino);
}

static void close_file(struct mask_file *base)
{
    struct rtstruct_file *set = (struct rtstruct_file *)base;
    free(set->contours);
    free(set->corners);
    free(set->crossings);
    free(set->kept);
    free(set);
}

static const struct mask_kind rtstruct_kind = {.what = "DICOM structure set",
                                               .read = read_slice,
                                               .memory_bytes = memory_bytes,
                                               .check_unchanged = check_unchanged,
                                               .holds = rtstruct_slices_holds,
                                               .close = close_file};

/* ---- opening --------------------------------------------------------------------------------- */

/* Finds the region that the chain names; -1 if it names none. */
static enum ts_status rtstruct_slices_choose(struct rtstruct_file *set, const struct rtstruct *from,
                                             const struct mask_request *request, int64_t *roi)
{
    const char *name = request->params->roi;
    *roi = -1;
    set->base.n_regions = (int64_t)from->n_rois;
    for (size_t i = 0; i < from->n_rois; i++) {
        if (from->rois[i].number > set->base.highest)
            set->base.highest = from->rois[i].number;
        if (!*name && from->rois[i].number == 0)
            return ts_mask_refuse(&set->base, "rtstruct-regions", request->diag,
                                  "has a region of number 0, which labels have outside of all "
                                  "regions: choose with `roi:`");
    }
    for (size_t i = 0; i < from->n_rois && !*name; i++)
        if (ts_mask_check_frame(&set->base, request, from->rois[i].frame_of_reference) != TS_OK)
            return TS_BAD_INPUT;
    if (!*name)
        return TS_OK;
    const int64_t found = ts_region_find(from->rois, from->n_rois, name);
    if (found < 0) {
        ts_param_error(request->set, "roi", "mask-region", request->diag,
                       found == -1 ? "names none of the %zu regions"
                                   : "is the name of several of the %zu regions",
                       from->n_rois);
        return ts_diag_hint(request->diag,
                            "`tomostage info --names` with the file lists their numbers and names");
    }
    *roi = from->rois[found].number;
    set->base.highest = 1;
    set->base.chosen = ts_arena_printf(request->arena, "%" PRId64, *roi);
    return ts_mask_check_frame(&set->base, request, from->rois[found].frame_of_reference);
}

static enum ts_status open_regions(struct rtstruct_file *set, struct region_file *file,
                                   struct rtstruct *from, const struct mask_request *request)
{
    struct point_reader reader = {.file = file, .request = request, .set = set};
    int64_t roi;
    if (!ts_rtstruct_parse(file, from))
        return ts_mask_refuse(&set->base, file->file.refusal_code, request->diag, "%s",
                              file->file.refusal);
    if (!ts_affine_invert(&request->to_mm, &reader.to_index))
        return ts_mask_refuse(&set->base, "mask-geometry", request->diag,
                              "goes with an image without a volume");
    enum ts_status status = rtstruct_slices_choose(set, from, request, &roi);
    reader.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    set->crossings = malloc(crossings_bytes(set));
    set->kept = request->nearest ? malloc(ts_slice_count(set->grid) * sizeof *set->kept) : NULL;
    if (!reader.c_locale || !set->crossings || (request->nearest && !set->kept))
        status = ts_diag_no_memory(request->diag, crossings_bytes(set));
    if (status == TS_OK)
        status = take_contours(&reader, from, roi);
    if (reader.c_locale)
        freelocale(reader.c_locale);
    free(reader.text);
    return status;
}

enum ts_status ts_rtstruct_open_take(struct region_file *file, const struct mask_request *request,
                                     struct mask_file **out)
{
    struct rtstruct from = {0};
    struct rtstruct_file *set = calloc(1, sizeof *set);
    enum ts_status status = set ? TS_OK : ts_diag_no_memory(request->diag, sizeof *set);
    *out = NULL;
    if (set) {
        set->grid = request->grid;
        set->found = file->found;
        set->base = ts_mask_file(&rtstruct_kind, request);
        status = open_regions(set, file, &from, request);
    }
    ts_rtstruct_clear(&from);
    ts_region_close(file);
    free(file);
    if (status == TS_OK)
        *out = &set->base;
    else if (set)
        close_file(&set->base);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The header gives axes, type, scale and a transform to RAS coordinates, whose first two signs are
 * changed for LPS. sform goes before qform, as in nibabel. Without either the volume has no place
 * in a patient. A fourth axis is one of volumes by time, which begins at toffset; they are numbered
 * where the header names no unit of time. Or it is one of frequencies, by its unit, or the sweep
 * that this program wrote.
 */
#include "io/volume/nifti.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/path.h"
#include "io/file/file_bytes.h"
#include "io/file/gzip_reader.h"
#include "io/file/regular_file.h"
#include "io/source/source_slices.h"
#include "io/volume/nifti_header.h"
#include "io/volume/volume_source.h"

static const struct param nifti_params[] = {
    PARAM(struct nifti_params, nifti, .required = true, .unit = "",
          .doc = "a NIfTI file of a volume, or of several by time: .nii, .nii.gz, or .hdr with the "
                 "file .img beside it"),
    VOLUME_QUANTITY_PARAM(struct nifti_params),
    TAKE_PARAM(struct nifti_params),
    SLICES_PARAM(struct nifti_params),
};

/* Values begin before this byte: only a header and extensions, which are short texts, stand before
 * them. */
enum { MOST_OFFSET = 1 << 28 };
enum { MOST_JSON = 1 << 20 };
static const double SAME_TIME = 1e-3;    /* in steps */
static const double SAME_SPACING = 0.01; /* of the spacing; the 0.49 of 0.488 is the same */

static enum ts_status read_header(struct volume_layout *layout, struct nifti_header *header,
                                  struct ts_diag *diag)
{
    unsigned char bytes[NIFTI_2_BYTES];
    const char *wrong = NULL;
    size_t n = NIFTI_2_BYTES;
    layout->gzip = ts_gzip_is(layout->fd, 0);
    if (layout->gzip) {
        struct gzip_reader *gzip = ts_gzip_reader_create(layout->fd, 0);
        if (!gzip)
            return ts_diag_no_memory(diag, sizeof bytes);
        wrong = ts_gzip_reader_read(gzip, bytes, n = NIFTI_1_BYTES);
        if (!wrong && !ts_gzip_reader_read(gzip, bytes + n, NIFTI_2_BYTES - n))
            n = NIFTI_2_BYTES;
        ts_gzip_reader_destroy(gzip);
    } else {
        n = layout->found.st_size < NIFTI_2_BYTES ? (size_t)layout->found.st_size : NIFTI_2_BYTES;
        if (!ts_file_read_at(layout->fd, bytes, n, 0))
            wrong = "cannot be read";
    }
    if (!wrong)
        wrong = ts_nifti_decode(bytes, n, header);
    return wrong ? ts_volume_refuse(layout, "nifti-header", diag, "%s", wrong) : TS_OK;
}

static enum ts_status take_axes(struct volume_layout *layout, const struct nifti_header *header,
                                struct ts_diag *diag)
{
    if (!(header->dim[0] >= 2 && header->dim[0] <= 7))
        return ts_volume_refuse(layout, "nifti-header", diag, "has %g axes, expected 2 to 7",
                                header->dim[0]);
    const int rank = (int)header->dim[0];
    for (int d = 0; d < 4; d++) {
        const double n = d < rank ? header->dim[1 + d] : 1;
        layout->n[d] = n >= 1 && n <= INT32_MAX ? (int64_t)n : 0;
    }
    for (int d = 4; d < rank; d++)
        if (header->dim[1 + d] != 1) {
            ts_volume_refuse(layout, "nifti-volumes", diag,
                             "has a fifth axis or more: axis %d has %g elements", d + 1,
                             header->dim[1 + d]);
            return ts_diag_hint(diag, "a chain reads volumes by time; split the file first with "
                                      "another program, for example nibabel in Python");
        }
    return TS_OK;
}

static enum ts_status take_type(struct volume_layout *layout, const struct nifti_header *header,
                                struct ts_diag *diag)
{
    const int datatype = (int)header->datatype;
    if (!ts_nifti_dtype(datatype, &layout->stored)) {
        ts_volume_refuse(layout, "nifti-type", diag,
                         "holds %s (datatype %d), not integers of at most 32 bits or floats",
                         ts_nifti_name(datatype), datatype);
        return ts_diag_hint(diag,
                            "convert it with another program first, for example nibabel in Python");
    }
    const double bits = 8 * (double)ts_dtype_bytes(layout->stored);
    if (header->bits != bits) {
        ts_volume_refuse(
            layout, "nifti-header", diag,
            "contradicts itself: its values have %g bits by datatype (%d), and %g by bitpix", bits,
            datatype, header->bits);
        return ts_diag_hint(diag, "correct the one that is wrong");
    }
    layout->swapped = header->swapped;
    /* A slope of 0 says that there is no scale. */
    if (!isfinite(header->slope)) {
        const struct diag_site site = {
            .code = "nifti-scale", .span = layout->span, .stage = layout->site};
        ts_diag_warning(
            diag, &site,
            "%s has a slope (scl_slope) that is not finite: its values are taken unscaled",
            layout->path);
    } else if (header->slope != 0) {
        layout->slope = header->slope;
        layout->intercept = header->intercept;
    }
    return TS_OK;
}

/* Returns mm in one of the header's lengths. A header without a unit means mm, as programs take
 * it. */
static double unit_mm(const struct nifti_header *header)
{
    switch ((int)header->units & NIFTI_LENGTHS) {
    case NIFTI_METER:
        return 1000;
    case NIFTI_MICRON:
        return 0.001;
    default:
        return 1;
    }
}

/* Returns how many of the header's times make a second, 0 where it names no unit of time. */
static double units_per_second(const struct nifti_header *header)
{
    switch ((int)header->units & NIFTI_TIMES) {
    case NIFTI_SECONDS:
        return 1;
    case NIFTI_MILLISECONDS:
        return 1e3;
    case NIFTI_MICROSECONDS:
        return 1e6;
    default:
        return 0;
    }
}

/* Takes the name and the values of a sweep from a header that this program wrote; others have no
 * name for the axis. */
static enum ts_status take_sweep(struct volume_layout *layout, const struct nifti_header *header,
                                 struct ts_diag *diag)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *by =
        strncmp(header->text, "tomostage ", 10) ? NULL : strstr(header->text, NIFTI_VOLUMES_BY);
    const char *name = by ? by + strlen(NIFTI_VOLUMES_BY) : "";
    if (!*name || name[strspn(name, letters)] || !isfinite(header->first) ||
        !isfinite(header->pixdim[4]))
        return TS_OK;
    layout->by = ts_arena_text(layout->arena, name, strlen(name));
    layout->first = header->first;
    layout->step = header->pixdim[4];
    return layout->by ? TS_OK : ts_diag_no_memory(diag, strlen(name));
}

/* Takes the name and the unit of a fourth axis that the header gives a unit of no time. */
static void take_spectrum(struct volume_layout *layout, const struct nifti_header *header)
{
    static const struct {
        int units;
        const char *name, *unit;
    } axes[] = {{NIFTI_HZ, "frequency", "Hz"},
                {NIFTI_PPM, "chemical_shift", "ppm"},
                {NIFTI_RADIANS, "angular_frequency", "rad/s"}};
    const double step = header->pixdim[4], first = header->first;
    for (size_t i = 0; i < sizeof axes / sizeof *axes && !layout->by; i++) {
        if (((int)header->units & NIFTI_TIMES) != axes[i].units)
            continue;
        const bool stated = isfinite(step) && step != 0 && isfinite(first) && first + step != first;
        layout->by = axes[i].name;
        layout->by_unit = stated ? axes[i].unit : NULL;
        layout->first = stated ? first : 0;
        layout->step = stated ? step : 1;
    }
}

/* Takes the times of volumes, where the header names their unit. A time of the first one beside
 * which the step vanishes would give all volumes one time. */
static void take_times(struct volume_layout *layout, const struct nifti_header *header,
                       struct ts_diag *diag)
{
    const double units = units_per_second(header), step = fabs(header->pixdim[4]) / units,
                 first = header->first / units;
    if (layout->by || layout->n[3] < 2 || !(units > 0 && step > 0 && step < 1e9))
        return;
    layout->step = step;
    if (isfinite(first) && first + step > first) {
        layout->first = first;
        return;
    }
    const struct diag_site site = {
        .code = "nifti-times", .span = layout->span, .stage = layout->site};
    ts_diag_warning(
        diag, &site,
        "%s has a time of the first volume (toffset) %s: the times of the volumes begin at 0",
        layout->path,
        isfinite(first) ? "that leaves no digits for their step" : "that is not finite");
}

/* Returns the text of the file that ends in .json beside the image, from calloc, or NULL where
 * there is none. */
static char *text_beside(const struct volume_layout *layout)
{
    static const char *const endings[] = {".nii.gz", ".nii", ".hdr", ".img", ".gz"};
    size_t stem = strlen(layout->path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ts_ends_in(layout->path, endings[i])) {
            stem -= strlen(endings[i]);
            break;
        }
    char reason[256], *text = NULL;
    struct stat found;
    const char *path = ts_arena_printf(layout->arena, "%.*s.json", (int)stem, layout->path);
    const int fd = path ? ts_regular_file_open(path, &found, reason, sizeof reason) : -1;
    if (fd >= 0 && found.st_size <= MOST_JSON)
        text = calloc(1, (size_t)found.st_size + 1);
    if (text && !ts_file_read_at(fd, text, (size_t)found.st_size, 0))
        *text = '\0';
    if (fd >= 0)
        close(fd);
    return text;
}

/* Returns true where the list of numbers is that of even times. */
static bool lists_even_times(const struct volume_layout *layout, const char *list)
{
    double first = 0;
    for (int64_t i = 0; i < layout->n[3]; i++) {
        char *end;
        const double time = strtod(list, &end);
        first = i == 0 ? time : first;
        if (end == list || fabs(time - first - (double)i * layout->step) > SAME_TIME * layout->step)
            return false;
        list = end + strspn(end, " \t\r\n,");
    }
    return *list == ']' && layout->step > 0;
}

/* The header has one step for all volumes. The file of BIDS beside it may state their times, which
 * are not read. */
static void warn_of_times_beside(const struct volume_layout *layout, struct ts_diag *diag)
{
    char *text = layout->n[3] > 1 && !layout->by ? text_beside(layout) : NULL;
    const char *key = text ? strstr(text, "\"VolumeTiming\"") : NULL,
               *list = key ? strchr(key, '[') : NULL;
    if (list && !lists_even_times(layout, list + 1))
        ts_diag_warning(diag,
                        &(struct diag_site){
                            .code = "nifti-timing", .span = layout->span, .stage = layout->site},
                        "the .json file beside %s states the times of its volumes (VolumeTiming), "
                        "which are not read: %s",
                        layout->path,
                        layout->step > 0
                            ? "the volumes have the even times of the header, which are others"
                            : "the volumes are numbered");
    free(text);
}

/* The spacings are pixdim's, which the transform's lengths only repeat, where the two agree. */
static void take_geometry(struct volume_layout *layout, const struct nifti_header *header)
{
    const double mm = unit_mm(header);
    /* This program names mm wherever it knows lengths; others do not always. */
    const bool is_unitless =
        !strncmp(header->text, "tomostage ", 10) && !((int)header->units & NIFTI_LENGTHS);
    layout->upwards = true;
    layout->has_transform = ts_nifti_transform(header, layout->transform);
    for (int d = 0; d < 3; d++) {
        double length = 0;
        for (int i = 0; i < 3; i++) {
            layout->transform[i][d] *= mm * (i < 2 ? -1 : 1);
            length += layout->transform[i][d] * layout->transform[i][d];
        }
        layout->transform[d][3] *= mm * (d < 2 ? -1 : 1);
        length = sqrt(length);
        const double spacing = fabs(header->pixdim[1 + d]) * mm;
        const bool agree = !layout->has_transform || fabs(spacing - length) <= 1e-5 * length;
        layout->spacing[d] = agree ? spacing : length;
        if (!(layout->spacing[d] < 1e9) || (is_unitless && !layout->has_transform))
            layout->spacing[d] = 0;
    }
}

/* Warns of a header that says in two ways how the volume lies: what is not used may be right. */
static void warn_of_forms(const struct volume_layout *layout, const struct nifti_header *header,
                          struct ts_diag *diag)
{
    const struct diag_site site = {
        .code = "nifti-forms", .span = layout->span, .stage = layout->site};
    double tolerance;
    bool mirrored;
    if (!(header->sform > 0))
        return;
    if (header->qform > 0) {
        const double apart = ts_nifti_apart(header, &tolerance, &mirrored);
        if (apart > tolerance)
            ts_diag_warning(diag, &site,
                            "%s has two transforms, which place its voxels up to %.4g mm apart%s: "
                            "sform (code %g) is used, qform (code %g) is not",
                            layout->path, apart * unit_mm(header),
                            mirrored ? ", one as the mirror image of the other" : "", header->sform,
                            header->qform);
    }
    for (int d = 0; d < 3; d++) {
        const double stated = fabs(header->pixdim[1 + d]) * unit_mm(header),
                     used = layout->spacing[d];
        if (header->dim[0] > d && header->dim[1 + d] > 1 && stated > 0 &&
            fabs(stated - used) > SAME_SPACING * used) {
            ts_diag_warning(diag, &site,
                            "%s has a spacing along %c of %.6g mm by its sform, which is used, and "
                            "of %.6g mm by its pixdim",
                            layout->path, "xyz"[d], used, stated);
            return;
        }
    }
}

/* The values lie behind the header, or in the file of the same name that ends in .img. */
static enum ts_status find_values(struct volume_layout *layout, const struct nifti_header *header,
                                  const struct param_set *set, struct ts_diag *diag)
{
    const size_t head = header->version == 1 ? NIFTI_1_BYTES : NIFTI_2_BYTES;
    const double least = header->pair ? 0 : (double)head;
    if (!(header->offset >= least && header->offset <= MOST_OFFSET))
        return ts_volume_refuse(
            layout, "nifti-header", diag,
            "has its values at byte %g, which lies before the header's end or is absurd",
            header->offset);
    if (header->pair) {
        if (!ts_ends_in(layout->path, ".hdr"))
            return ts_volume_refuse(
                layout, "nifti-header", diag,
                "is the header of a pair of files, whose name should end in .hdr");
        const char *path = ts_arena_printf(
            layout->arena, "%.*s.img", (int)(strlen(layout->path) - strlen(".hdr")), layout->path);
        if (!path)
            return ts_diag_no_memory(diag, strlen(layout->path));
        const enum ts_status status = ts_volume_open_values(layout, set, path, diag);
        if (status != TS_OK)
            return status;
        layout->gzip = ts_gzip_is(layout->fd, 0);
    }
    layout->start = layout->gzip ? 0 : (uint64_t)header->offset;
    layout->skip = layout->gzip ? (uint64_t)header->offset : 0;
    return TS_OK;
}

static enum ts_status open_nifti(const struct param_set *set, struct source **source,
                                 struct ts_diag *diag)
{
    const struct nifti_params *params = set->values;
    struct volume_layout layout;
    struct nifti_header header;
    enum ts_status status = ts_volume_open(&layout, set, params->nifti, diag);
    if (status == TS_OK)
        status = read_header(&layout, &header, diag);
    if (status == TS_OK)
        status = find_values(&layout, &header, set, diag);
    if (status == TS_OK)
        status = take_axes(&layout, &header, diag);
    if (status == TS_OK)
        status = take_type(&layout, &header, diag);
    if (status == TS_OK)
        status = take_sweep(&layout, &header, diag);
    if (status == TS_OK) {
        take_spectrum(&layout, &header);
        take_times(&layout, &header, diag);
        warn_of_times_beside(&layout, diag);
        take_geometry(&layout, &header);
        warn_of_forms(&layout, &header, diag);
    }
    layout.quantity = (enum ts_quantity)params->quantity;
    return ts_volume_source_take(&layout, status, source, diag);
}

const struct source_format nifti_format = {
    .name = "nifti",
    .summary = "a volume in a NIfTI file, or several by time",
    .params = nifti_params,
    .n_params = sizeof nifti_params / sizeof nifti_params[0],
    .params_bytes = sizeof(struct nifti_params),
    .open = open_nifti,
};

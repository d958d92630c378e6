/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a volume as NRRD: a header of text, and behind it the values, x fastest and row 0 first,
 * in gzip or raw. The space of a volume with a place is left-posterior-superior, DICOM's. A volume
 * without one has spacings, nan along axes where they are not known. Source: G. Kindlmann,
 * Definition of NRRD File Format, teem.sourceforge.net/nrrd.
 */
#include <math.h>

#include "io/sink/volume_file.h"

/* NRRD could hold a fourth axis, which programs take for components of a vector, or refuse. */
static const char *nrrd_refusal(const struct sink_request *request)
{
    return request->volumes ? "it is a series of volumes, and NRRD holds one; mha, nifti and hdf5 "
                              "hold several"
                            : ts_sink_no_volume(request);
}

static const char *type_name(enum ts_dtype dtype)
{
    switch (dtype) {
    case TS_U8:
        return "uint8";
    case TS_I8:
        return "int8";
    case TS_U16:
        return "uint16";
    case TS_I16:
        return "int16";
    case TS_U32:
        return "uint32";
    case TS_I32:
        return "int32";
    case TS_F64:
        return "double";
    default:
        return "float";
    }
}

static void write_vector(const double vector[3], FILE *stream)
{
    fputs(" (", stream);
    ts_volume_file_write_numbers(vector, 3, ",", stream);
    fputc(')', stream);
}

static void write_place(const struct sink *sink, FILE *stream)
{
    double rows[3][4];
    ts_volume_file_transform(sink, rows);
    fputs("space: left-posterior-superior\nspace directions:", stream);
    for (int d = 0; d < 3; d++)
        write_vector((double[]){rows[0][d], rows[1][d], rows[2][d]}, stream);
    fputs("\nspace origin:", stream);
    write_vector(sink->image.origin_mm, stream);
    fputs("\nspace units: \"mm\" \"mm\" \"mm\"\n", stream);
}

static void write_spacings(const struct ts_image *image, FILE *stream)
{
    double spacings[3];
    for (int d = 0; d < 3; d++) {
        const struct ts_axis *axis = &image->axes[2 - d];
        spacings[d] = strcmp(axis->unit, "mm") ? NAN : ts_axis_spacing(axis);
    }
    fputs("spacings: ", stream);
    ts_volume_file_write_numbers(spacings, 3, " ", stream);
    fputs("\nunits:", stream);
    for (int d = 2; d >= 0; d--)
        fputs(strcmp(image->axes[d].unit, "mm") ? " \"\"" : " \"mm\"", stream);
    fputc('\n', stream);
}

static void write_header(struct volume_file *file, FILE *stream)
{
    const struct sink *sink = &file->sink;
    const struct ts_image *image = &sink->image;
    fprintf(stream, "NRRD0005\n# tomostage %s\ntype: %s\ndimension: 3\nsizes: %lld %lld %lld\n",
            ts_version(), type_name(image->dtype), (long long)image->axes[2].n,
            (long long)image->axes[1].n, (long long)image->axes[0].n);
    if (image->has_geometry)
        write_place(sink, stream);
    else
        write_spacings(image, stream);
    fprintf(stream, "kinds: domain domain domain\nendian: %s\nencoding: %s\n",
            __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "little" : "big",
            sink->request.stored ? "raw" : "gzip");
    ts_volume_file_write_facts(sink, ":=", stream);
    fputc('\n', stream);
}

static enum ts_status nrrd_begin(struct volume_file *file, struct ts_diag *diag)
{
    return ts_volume_file_begin_text(file, write_header, VOLUME_GZIP, diag);
}

static enum ts_status open_file(struct sink *sink, struct ts_diag *diag)
{
    struct volume_file *file = (struct volume_file *)sink;
    file->begin = nrrd_begin;
    return nrrd_begin(file, diag);
}

const struct sink_format nrrd_sink = {
    .name = "nrrd",
    .summary = "one NRRD file, .nrrd, in gzip, or raw with compression: none",
    .suffixes = {".nrrd"},
    .beside = {"_mask.nrrd"},
    .sink_bytes = sizeof(struct volume_file),
    .refusal = nrrd_refusal,
    .memory_bytes = ts_volume_file_memory,
    .open = open_file,
    .put = ts_volume_file_put,
    .finish = ts_volume_file_finish,
    .free = ts_volume_file_free,
};

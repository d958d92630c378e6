/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a volume, or a series of volumes with a fourth axis, as MetaImage: a header of text, and
 * behind it the values, x fastest and row 0 first, in zlib or raw. Each row of TransformMatrix is
 * the direction of an axis of the file in the patient (LPS). A volume without a place has none. If
 * lengths are not known in mm along every axis, DistanceUnits says so. Source: ITK, MetaIO
 * documentation, itk.org/Wiki/ITK/MetaIO/Documentation.
 */
#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "io/file/file_bytes.h"
#include "io/sink/volume_file.h"

#define SIZE_FIELD "CompressedDataSize = "
enum { SIZE_DIGITS = 20 };
static const double SAME = 1e-9; /* difference of lengths that is rounding */

struct mha_file {
    struct volume_file file; /* first */
    uint64_t size_at, start; /* where the digits of SIZE_FIELD are, and where the values begin */
};

static const char *type_name(enum ts_dtype dtype)
{
    switch (dtype) {
    case TS_U8:
        return "MET_UCHAR";
    case TS_I8:
        return "MET_CHAR";
    case TS_U16:
        return "MET_USHORT";
    case TS_I16:
        return "MET_SHORT";
    case TS_U32:
        return "MET_UINT";
    case TS_I32:
        return "MET_INT";
    case TS_F64:
        return "MET_DOUBLE";
    default:
        return "MET_FLOAT";
    }
}

/* Returns the letter of the side from which an axis rises that has this direction. */
static char letter_from(const double direction[3])
{
    int most = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(direction[i]) > fabs(direction[most]))
            most = i;
    return (direction[most] > 0 ? "RAI" : "LPS")[most];
}

/* Writes spacings, and directions and origin if the image has a place. */
static void write_place(const struct sink *sink, int rank, FILE *stream)
{
    const struct ts_image *image = &sink->image;
    double rows[3][4], spacing[4] = {1, 1, 1, 1}, directions[4][4] = {{0}};
    char letters[4] = "";
    ts_volume_file_transform(sink, rows);
    directions[3][3] = 1;
    for (int d = 0; d < 3; d++) {
        const double stated = ts_axis_spacing(&image->axes[2 - d]);
        double length = 0;
        for (int i = 0; i < 3; i++)
            length += rows[i][d] * rows[i][d];
        length = sqrt(length);
        for (int i = 0; i < 3; i++)
            directions[d][i] = rows[i][d] / length;
        letters[d] = letter_from(directions[d]);
        spacing[d] =
            !image->has_geometry || fabs(length - stated) <= SAME * length ? stated : length;
    }
    if (image->has_geometry) {
        const double offset[4] = {rows[0][3], rows[1][3], rows[2][3]};
        fputs("TransformMatrix =", stream);
        for (int d = 0; d < rank; d++) {
            fputc(' ', stream);
            ts_volume_file_write_numbers(directions[d], rank, " ", stream);
        }
        fputs("\nOffset = ", stream);
        ts_volume_file_write_numbers(offset, rank, " ", stream);
        fprintf(stream, "\nAnatomicalOrientation = %s\n", letters);
    }
    fputs("ElementSpacing = ", stream);
    ts_volume_file_write_numbers(spacing, rank, " ", stream);
    fputc('\n', stream);
}

static void write_header(struct volume_file *file, FILE *stream)
{
    const struct sink *sink = &file->sink;
    const struct ts_image *image = &sink->image;
    const int rank = sink->request.volumes ? 4 : 3;
    fprintf(stream,
            "ObjectType = Image\nNDims = %d\nComment = tomostage %s: %s, %s\nBinaryData = True\n"
            "BinaryDataByteOrderMSB = %s\nCompressedData = %s\n",
            rank, ts_version(), ts_quantity_name(image->quantity), image->unit,
            __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "False" : "True",
            sink->request.stored ? "False" : "True");
    if (!sink->request.stored) {
        fflush(stream);
        ((struct mha_file *)file)->size_at = (uint64_t)ftell(stream) + strlen(SIZE_FIELD);
        fprintf(stream, SIZE_FIELD "%*d\n", SIZE_DIGITS, 0);
    }
    fprintf(stream, "DistanceUnits = %s\n", ts_volume_file_unknown_axis(image) < 0 ? "mm" : "?");
    write_place(sink, rank, stream);
    fputs("DimSize =", stream);
    for (int d = 2; d >= 0; d--)
        fprintf(stream, " %lld", (long long)image->axes[d].n);
    if (rank > 3)
        fprintf(stream, " %lld", (long long)sink->request.volumes->n);
    fprintf(stream, "\nElementType = %s\n", type_name(image->dtype));
    ts_volume_file_write_facts(sink, " = ", stream);
    fputs("ElementDataFile = LOCAL\n", stream);
}

static enum ts_status mha_begin(struct volume_file *file, struct ts_diag *diag)
{
    struct mha_file *mha = (struct mha_file *)file;
    const enum ts_status status = ts_volume_file_begin_text(file, write_header, VOLUME_ZLIB, diag);
    mha->start = file->offset;
    return status;
}

/* Writes the number of compressed bytes, which is known at last. */
static enum ts_status mha_end(struct volume_file *file, struct ts_diag *diag)
{
    const struct mha_file *mha = (const struct mha_file *)file;
    const int fd = file->sink.staged[0].file.fd;
    char digits[SIZE_DIGITS + 1];
    struct stat found;
    if (file->sink.request.stored)
        return TS_OK;
    if (fstat(fd, &found) != 0)
        return ts_sink_failed(&file->sink, errno, diag);
    snprintf(digits, sizeof digits, "%*llu", SIZE_DIGITS,
             (unsigned long long)found.st_size - mha->start);
    return ts_file_write_at(fd, digits, SIZE_DIGITS, mha->size_at)
               ? TS_OK
               : ts_sink_failed(&file->sink, errno, diag);
}

static enum ts_status open_file(struct sink *sink, struct ts_diag *diag)
{
    struct volume_file *file = (struct volume_file *)sink;
    file->begin = mha_begin;
    file->end = mha_end;
    ts_volume_file_warn_of_unit(file, "mha-unit", diag);
    return mha_begin(file, diag);
}

const struct sink_format mha_sink = {
    .name = "mha",
    .summary = "one MetaImage file, .mha, in zlib, or raw with compression: none",
    .suffixes = {".mha"},
    .beside = {"_mask.mha"},
    .sink_bytes = sizeof(struct mha_file),
    .refusal = ts_sink_no_volume,
    .memory_bytes = ts_volume_file_memory,
    .open = open_file,
    .put = ts_volume_file_put,
    .finish = ts_volume_file_finish,
    .free = ts_volume_file_free,
};

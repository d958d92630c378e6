/* SPDX-License-Identifier: Apache-2.0
 *
 * The header is text: lines `Name = value`, the last of which is ElementDataFile. Fields that
 * change what the values mean are understood or refused; fields that only describe the file, and
 * those that ITK copies from DICOM, are ignored. Each row of TransformMatrix is the direction of
 * one axis of the file, in the patient: ITK, and all that builds on it, takes these directions and
 * Offset as LPS. AnatomicalOrientation says the same in letters, and is compared with them. Source:
 * ITK, MetaIO documentation, itk.org/Wiki/ITK/MetaIO/Documentation, and metaImage.cxx.
 */
#include "io/volume/mha.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/number.h"
#include "core/vector3.h"
#include "io/file/gzip_reader.h"
#include "io/source/source_slices.h"
#include "io/volume/header_text.h"

enum { AXES = 4 };
static const double SAME_DIRECTION = 1e-3; /* how far lengths and right angles may be off */

static const struct param mha_params[] = {
    PARAM(struct mha_params, mha, .required = true, .unit = "",
          .doc = "a MetaImage file of a volume, or of several: .mha, or a header .mhd beside the "
                 "file of its values"),
    VOLUME_QUANTITY_PARAM(struct mha_params),
    SLICES_PARAM(struct mha_params),
};

static const struct {
    const char *name;
    enum ts_dtype dtype;
    bool is_signed; /* of 64 bits */
} mha_types[] = {
    {"MET_CHAR", TS_I8},
    {"MET_UCHAR", TS_U8},
    {"MET_SHORT", TS_I16},
    {"MET_USHORT", TS_U16},
    {"MET_INT", TS_I32},
    {"MET_UINT", TS_U32},
    {"MET_LONG_LONG", TS_U64, true},
    {"MET_ULONG_LONG", TS_U64},
    {"MET_FLOAT", TS_F32},
    {"MET_DOUBLE", TS_F64},
};

/* What was found in the header. */
struct mha {
    struct volume_layout *layout;
    struct ts_diag *diag;
    struct header_text header;
    int rank;
    uint64_t seen; /* bits of `mha_fields` */
    bool compressed, without_unit;
    int big; /* the bytes of a value are in big-endian order: 0 or 1; -1: not stated */
    int64_t compressed_bytes; /* 0: not stated */
    const char *letters;      /* AnatomicalOrientation; NULL: not stated */
    double sizes[AXES];       /* ElementSize, which counts if there is no ElementSpacing */
    double spacing[AXES], offset[AXES], matrix[AXES * AXES];
    bool has_type, has_sizes, has_spacing, has_offset, has_matrix;
};

static enum ts_status mha_refuse(const struct mha *mha, const char *code, const char *what,
                                 const char *value)
{
    return ts_header_refuse(mha->layout, code, mha->diag, what, value);
}

/* Refuses what ITK reads in one way or another, but does not itself write of a plain volume. */
static enum ts_status mha_refuse_form(const struct mha *mha, const char *what, const char *value)
{
    mha_refuse(mha, "mha-form", what, value);
    return ts_diag_hint(
        mha->diag, "in Python: i = SimpleITK.ReadImage('FILE'); SimpleITK.WriteImage("
                   "SimpleITK.VectorIndexSelectionCast(i, 0) if i.GetNumberOfComponentsPerPixel() "
                   "> 1 else i, 'NEW.nrrd'), and then input: {nrrd: NEW.nrrd}, reads it as ITK "
                   "does; of several channels it takes the first");
}

/* ---- fields ---------------------------------------------------------------------------------- */

static bool is_true(const char *value)
{
    return !strcasecmp(value, "True") || !strcmp(value, "1");
}

static enum ts_status take_flag(const struct mha *mha, const char *value, bool *flag)
{
    *flag = is_true(value);
    return *flag || !strcasecmp(value, "False") || !strcmp(value, "0")
               ? TS_OK
               : mha_refuse(mha, "mha-header", "has a field that is neither True nor False", value);
}

static enum ts_status take_object(struct mha *mha, const char *value)
{
    return !strcmp(value, "Image") ? TS_OK : mha_refuse(mha, "mha-header", "holds no image", value);
}

static enum ts_status take_rank(struct mha *mha, const char *value)
{
    int64_t rank = 0;
    if (ts_number_integer(value, &rank) == NULL && rank >= 2 && rank <= AXES) {
        mha->rank = (int)rank;
        return TS_OK;
    }
    return mha_refuse(mha, "mha-header", "has another number of axes than 2, 3 or 4", value);
}

static enum ts_status take_sizes(struct mha *mha, const char *value)
{
    mha->has_sizes = ts_header_sizes(mha->layout, value, mha->rank);
    return mha->has_sizes
               ? TS_OK
               : mha_refuse(mha, "mha-header", "has sizes that do not fit its NDims", value);
}

static enum ts_status take_type(struct mha *mha, const char *value)
{
    for (size_t i = 0; i < sizeof mha_types / sizeof *mha_types; i++)
        if (!strcmp(value, mha_types[i].name)) {
            mha->layout->stored = mha_types[i].dtype;
            mha->layout->is_signed = mha_types[i].is_signed;
            mha->has_type = true;
            return TS_OK;
        }
    return mha_refuse_form(mha, "holds values of a type that is not read", value);
}

static enum ts_status take_channels(struct mha *mha, const char *value)
{
    return strcmp(value, "1") ? mha_refuse_form(mha, "has several channels", value) : TS_OK;
}

static enum ts_status take_binary(struct mha *mha, const char *value)
{
    bool binary;
    const enum ts_status status = take_flag(mha, value, &binary);
    return status != TS_OK || binary ? status
                                     : mha_refuse_form(mha, "has its values as text", value);
}

/* The order has two names, which must not contradict each other. */
static enum ts_status take_order(struct mha *mha, const char *value)
{
    bool big;
    const enum ts_status status = take_flag(mha, value, &big);
    if (status == TS_OK && mha->big >= 0 && mha->big != big)
        return mha_refuse(mha, "mha-header", "has two byte orders", value);
    mha->big = big;
    return status;
}

static enum ts_status take_compressed(struct mha *mha, const char *value)
{
    return take_flag(mha, value, &mha->compressed);
}

static enum ts_status take_compressed_bytes(struct mha *mha, const char *value)
{
    return ts_number_integer(value, &mha->compressed_bytes) == NULL && mha->compressed_bytes >= 0
               ? TS_OK
               : mha_refuse(mha, "mha-header", "has a size that is none", value);
}

static enum ts_status take_skip(struct mha *mha, const char *value)
{
    return ts_header_take_skip(&mha->header, value)
               ? TS_OK
               : mha_refuse(mha, "mha-header", "has a HeaderSize that is not read", value);
}

static enum ts_status mha_take_numbers(const struct mha *mha, const char *value, int n,
                                       double *numbers, bool *has)
{
    *has = mha->rank > 0 && ts_header_numbers(value, n, false, numbers);
    return *has ? TS_OK
                : mha_refuse(mha, "mha-header", "has a place or a size that does not fit its NDims",
                             value);
}

static enum ts_status take_spacing(struct mha *mha, const char *value)
{
    return mha_take_numbers(mha, value, mha->rank, mha->spacing, &mha->has_spacing);
}

static enum ts_status take_element_size(struct mha *mha, const char *value)
{
    bool has;
    return mha_take_numbers(mha, value, mha->rank, mha->sizes, &has);
}

static enum ts_status take_offset(struct mha *mha, const char *value)
{
    double offset[AXES];
    const bool again = mha->has_offset;
    const enum ts_status status = mha_take_numbers(mha, value, mha->rank, offset, &mha->has_offset);
    if (status == TS_OK && again && memcmp(offset, mha->offset, (size_t)mha->rank * sizeof *offset))
        return mha_refuse(mha, "mha-header", "has two places (Offset, Position, Origin)", value);
    memcpy(mha->offset, offset, sizeof offset);
    return status;
}

static enum ts_status take_matrix(struct mha *mha, const char *value)
{
    double matrix[AXES * AXES];
    const bool again = mha->has_matrix;
    const int n = mha->rank * mha->rank;
    const enum ts_status status = mha_take_numbers(mha, value, n, matrix, &mha->has_matrix);
    if (status == TS_OK && again && memcmp(matrix, mha->matrix, (size_t)n * sizeof *matrix))
        return mha_refuse(mha, "mha-header",
                          "has two directions (TransformMatrix, Rotation, Orientation)", value);
    memcpy(mha->matrix, matrix, sizeof matrix);
    return status;
}

static enum ts_status take_letters(struct mha *mha, const char *value)
{
    mha->letters = value;
    return TS_OK;
}

static enum ts_status take_unit(struct mha *mha, const char *value)
{
    mha->without_unit = !strcmp(value, "?");
    return mha->without_unit || !strcmp(value, "mm")
               ? TS_OK
               : mha_refuse(mha, "mha-header", "has lengths in another unit than mm", value);
}

/* ITK leaves values as they are stored, whatever scale the header states. */
static enum ts_status take_slope(struct mha *mha, const char *value)
{
    double slope;
    return ts_header_numbers(value, 1, false, &slope) && slope == 1
               ? TS_OK
               : mha_refuse_form(mha, "states a slope of its values, which ITK does not apply",
                                 value);
}

static enum ts_status take_intercept(struct mha *mha, const char *value)
{
    double intercept;
    return ts_header_numbers(value, 1, false, &intercept) && intercept == 0
               ? TS_OK
               : mha_refuse_form(mha, "states an offset of its values, which ITK does not apply",
                                 value);
}

static enum ts_status take_file(struct mha *mha, const char *value)
{
    if (!strcasecmp(value, "LOCAL"))
        return TS_OK;
    if (!ts_header_may_name(value) || strpbrk(value, " \t"))
        return mha_refuse_form(mha, "names values outside of its folder, or in several files",
                               value);
    mha->header.file = value;
    return TS_OK;
}

static const struct {
    const char *name;
    enum ts_status (*take)(struct mha *mha, const char *value);
} mha_fields[] = {
    {"ObjectType", take_object},
    {"NDims", take_rank},
    {"DimSize", take_sizes},
    {"ElementType", take_type},
    {"ElementNumberOfChannels", take_channels},
    {"BinaryData", take_binary},
    {"BinaryDataByteOrderMSB", take_order},
    {"ElementByteOrderMSB", take_order},
    {"CompressedData", take_compressed},
    {"CompressedDataSize", take_compressed_bytes},
    {"HeaderSize", take_skip},
    {"ElementSpacing", take_spacing},
    {"ElementSize", take_element_size},
    {"Offset", take_offset},
    {"Position", take_offset},
    {"Origin", take_offset},
    {"TransformMatrix", take_matrix},
    {"Rotation", take_matrix},
    {"Orientation", take_matrix},
    {"AnatomicalOrientation", take_letters},
    {"DistanceUnits", take_unit},
    {"ElementToIntensityFunctionSlope", take_slope},
    {"ElementToIntensityFunctionOffset", take_intercept},
    {"ElementDataFile", take_file},
    /* The following fields change neither values nor places, as ITK reads them. */
    {"ObjectSubType", NULL},
    {"TransformType", NULL},
    {"Comment", NULL},
    {"AcquisitionDate", NULL},
    {"Name", NULL},
    {"ID", NULL},
    {"ParentID", NULL},
    {"CompressionLevel", NULL},
    {"Color", NULL},
    {"CenterOfRotation", NULL},
    {"Modality", NULL},
    {"SequenceID", NULL},
    {"ElementMin", NULL},
    {"ElementMax", NULL},
};
_Static_assert(sizeof mha_fields / sizeof *mha_fields <= 64, "struct mha has a bit for each field");

/* ITK writes what it read from other formats as fields of their names: DICOM's tags, and its own.
 */
static bool is_of_itk(const char *name)
{
    static const char tag[] = "0000|0000";
    bool is_tag = strlen(name) == sizeof tag - 1;
    for (size_t i = 0; is_tag && name[i]; i++)
        is_tag = tag[i] == '|' ? name[i] == '|' : isxdigit((unsigned char)name[i]) != 0;
    return is_tag || !strncmp(name, "ITK_", 4);
}

/* Takes one line, which ends in a zero. */
static enum ts_status take_line(struct mha *mha, char *line, bool *last)
{
    char *equals = strchr(line, '=');
    if (!equals)
        return mha_refuse(mha, "mha-header", "has a line that is no field", line);
    *equals = '\0';
    char *value = equals + 1 + strspn(equals + 1, " \t");
    ts_header_trim(line);
    ts_header_trim(value);
    *last = !strcmp(line, "ElementDataFile");
    for (size_t i = 0; i < sizeof mha_fields / sizeof *mha_fields; i++)
        if (!strcmp(line, mha_fields[i].name)) {
            if (mha->seen >> i & 1)
                return mha_refuse(mha, "mha-header", "has a field twice", line);
            mha->seen |= UINT64_C(1) << i;
            return mha_fields[i].take ? mha_fields[i].take(mha, value) : TS_OK;
        }
    return ts_header_take_own(&mha->header, line, value) || is_of_itk(line)
               ? TS_OK
               : mha_refuse_form(mha, "has a field that MetaImage does not know", line);
}

/* ---- the file -------------------------------------------------------------------------------- */

static enum ts_status read_header(struct mha *mha)
{
    enum ts_status status = ts_header_read(mha->layout, &mha->header, mha->diag);
    bool last = false;
    while (!last && status == TS_OK) {
        char *line = ts_header_line(&mha->header);
        if (!line)
            return ts_volume_refuse(mha->layout, "mha-header", mha->diag,
                                    "has a header that does not end: it lacks ElementDataFile");
        if (*line)
            status = take_line(mha, line, &last);
    }
    return status;
}

static enum ts_status check_fields(struct mha *mha)
{
    const char *missing = NULL;
    if (!mha->has_sizes)
        missing = "DimSize";
    else if (!mha->has_type)
        missing = "ElementType";
    if (missing)
        return ts_volume_refuse(mha->layout, "mha-header", mha->diag, "lacks the field '%s'",
                                missing);
    if (mha->header.skip < 0 && mha->compressed)
        return ts_volume_refuse(mha->layout, "mha-header", mha->diag,
                                "has a HeaderSize of -1, which only raw values can have");
    if (mha->header.skip != 0 && !mha->header.file)
        return ts_volume_refuse(mha->layout, "mha-header", mha->diag,
                                "has a HeaderSize, and its values are behind its own header");
    for (int d = 0; d < mha->rank && mha->has_spacing; d++)
        if (!(mha->spacing[d] > 0))
            return ts_volume_refuse(mha->layout, "mha-header", mha->diag,
                                    "has an ElementSpacing that is not above 0");
    mha->layout->swapped = (mha->big == 1) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    return TS_OK;
}

/* ---- place ----------------------------------------------------------------------------------- */

/* Returns component i of the direction of axis d. */
static double direction_of(const struct mha *mha, int d, int i)
{
    if (!mha->has_matrix)
        return d == i;
    return mha->matrix[d * mha->rank + i];
}

/* Refuses directions that are no unit vectors, or that mix space with a fourth axis. */
static enum ts_status check_matrix(const struct mha *mha)
{
    for (int d = 0; d < mha->rank; d++) {
        double length = 0;
        for (int i = 0; i < mha->rank; i++)
            length += direction_of(mha, d, i) * direction_of(mha, d, i);
        const double own = mha->rank == AXES ? direction_of(mha, d, 3) : 0;
        if (fabs(length - 1) > SAME_DIRECTION ||
            (mha->rank == AXES && fabs(own - (d == 3)) > SAME_DIRECTION))
            return ts_volume_refuse(
                mha->layout, "mha-header", mha->diag,
                "has directions (TransformMatrix) that are no unit vectors of space");
    }
    return TS_OK;
}

/* Returns true if the letters name the sides from which (`from`), or to which, the axes rise. */
static bool letters_agree(const struct mha *mha, bool from)
{
    static const char low[] = "RAI", high[] = "LPS";
    for (int d = 0; d < 3; d++) {
        int most = 0;
        for (int i = 1; i < 3; i++)
            if (fabs(direction_of(mha, d, i)) > fabs(direction_of(mha, d, most)))
                most = i;
        const bool rises = direction_of(mha, d, most) > 0;
        if (mha->letters[d] != (rises == from ? low : high)[most])
            return false;
    }
    return true;
}

/* Warns of letters that contradict the directions, and of a place that is not used. */
static void warn_of_place(const struct mha *mha)
{
    const struct volume_layout *layout = mha->layout;
    const struct diag_site site = {
        .code = "mha-place", .span = layout->span, .stage = layout->site};
    char shown[64];
    const bool stated = mha->letters && *mha->letters != '?' && mha->rank >= 3;
    if (stated &&
        (strlen(mha->letters) != 3 || (!letters_agree(mha, true) && !letters_agree(mha, false)))) {
        ts_text_escape(shown, sizeof shown, mha->letters);
        ts_diag_warning(mha->diag, &site,
                        "%s has an AnatomicalOrientation of '%s', which contradicts the directions "
                        "of its axes (TransformMatrix), which are used, as ITK does",
                        layout->path, shown);
    }
    const bool moved = mha->offset[0] != 0 || mha->offset[1] != 0 ||
                       (mha->has_matrix && (mha->matrix[0] < 1 || mha->matrix[3] < 1));
    if (mha->rank == 2 && moved)
        ts_diag_warning(mha->diag, &site,
                        "%s has two axes: its place is not used, since it is none in the patient",
                        layout->path);
}

static void take_geometry(struct mha *mha)
{
    struct volume_layout *layout = mha->layout;
    const double *spacing = mha->has_spacing ? mha->spacing : mha->sizes;
    layout->unplaced_hint =
        "in Python: SimpleITK.WriteImage(SimpleITK.GetImageFromArray(SimpleITK.GetArrayFromImage("
        "SimpleITK.ReadImage('FILE'))), 'NEW.mha'), and then input: {mha: NEW.mha}, has its values "
        "without place and spacings";
    layout->has_transform =
        mha->rank >= 3 && !mha->without_unit && (mha->has_offset || mha->has_matrix);
    for (int d = 0; d < 3 && d < mha->rank; d++)
        layout->spacing[d] = mha->without_unit ? 0 : spacing[d];
    for (int i = 0; i < 3 && layout->has_transform; i++) {
        for (int d = 0; d < 3; d++)
            layout->transform[i][d] = direction_of(mha, d, i) * (spacing[d] > 0 ? spacing[d] : 1);
        layout->transform[i][3] = mha->offset[i];
    }
}

/* Finds the values, and checks what the header says of their compression. */
static enum ts_status mha_find_values(struct mha *mha, const struct param_set *set)
{
    struct volume_layout *layout = mha->layout;
    layout->gzip = mha->compressed;
    const enum ts_status status = ts_header_find_values(layout, &mha->header, set, mha->diag);
    if (status != TS_OK || !mha->compressed)
        return status;
    const uint64_t stated = (uint64_t)mha->compressed_bytes, file = (uint64_t)layout->found.st_size,
                   there = file > layout->start ? file - layout->start : 0;
    if (!ts_zlib_is(layout->fd, layout->start) && !ts_gzip_is(layout->fd, layout->start))
        return ts_volume_refuse(layout, "mha-header", mha->diag,
                                "says CompressedData, and its values are not");
    return stated == 0 || stated == there
               ? TS_OK
               : ts_volume_refuse(layout, "mha-header", mha->diag,
                                  "states a CompressedDataSize of %llu, and has %llu bytes",
                                  (unsigned long long)stated, (unsigned long long)there);
}

static enum ts_status open_mha(const struct param_set *set, struct source **source,
                               struct ts_diag *diag)
{
    const struct mha_params *params = set->values;
    struct volume_layout layout;
    struct mha mha = {.layout = &layout, .diag = diag, .big = -1};
    enum ts_status status = ts_volume_open(&layout, set, params->mha, diag);
    if (status == TS_OK)
        status = read_header(&mha);
    if (status == TS_OK)
        status = check_fields(&mha);
    if (status == TS_OK)
        status = check_matrix(&mha);
    layout.quantity = (enum ts_quantity)params->quantity;
    if (status == TS_OK) {
        warn_of_place(&mha);
        take_geometry(&mha);
        status = ts_header_use_own(&layout, &mha.header, ts_volume_quantity_given(set), diag);
    }
    if (status == TS_OK)
        status = mha_find_values(&mha, set);
    return ts_volume_source_take(&layout, status, source, diag);
}

const struct source_format mha_format = {
    .name = "mha",
    .summary = "a volume in a MetaImage file, or several",
    .params = mha_params,
    .n_params = sizeof mha_params / sizeof mha_params[0],
    .params_bytes = sizeof(struct mha_params),
    .open = open_mha,
    .resolve = ts_volume_resolve,
};

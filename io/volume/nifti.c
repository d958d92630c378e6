/* SPDX-License-Identifier: Apache-2.0
 *
 * The header gives axes, type, scale and a transform to RAS coordinates, whose first two signs are
 * changed for LPS. sform comes before qform, as in nibabel. Without either, the volume has no place
 * in a patient. A fourth axis is one of times, which begin at toffset (volumes are numbered if the
 * header states no unit of time), of frequencies, according to its unit, or of a sweep that this
 * program wrote.
 */
#include "io/volume/nifti.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/path.h"
#include "io/file/file_bytes.h"
#include "io/file/gzip_reader.h"
#include "io/file/regular_file.h"
#include "io/source/source_slices.h"
#include "io/volume/nifti_beside.h"
#include "io/volume/volume_source.h"

/* ---- header ---------------------------------------------------------------------------------- */

/* The fields go through a table of their places and types in both versions. A qform is a turn by
 * the quaternion (a, b, c, d), whose a follows from the others, with spacings pixdim[1..3] and the
 * sign pixdim[0] of the third axis. */

struct nifti_params {
    const char *nifti;
    int32_t quantity; /* enum ts_quantity */
    struct ts_numbers take, slices;
};

/* SCALE: a 32-bit float that is taken as it is. */
enum kind { I8, I16, I32, I64, F32, F64, SCALE };
struct place {
    size_t offset;
    enum kind kind;
};
static const struct field {
    size_t at; /* in struct nifti_header */
    int n;
    struct place places[2]; /* in versions 1 and 2 */
} fields[] = {
#define FIELD(name, n, offset_1, kind_1, offset_2, kind_2)                                         \
    {                                                                                              \
        offsetof(struct nifti_header, name), n,                                                    \
        {                                                                                          \
            {offset_1, kind_1},                                                                    \
            {                                                                                      \
                offset_2, kind_2                                                                   \
            }                                                                                      \
        }                                                                                          \
    }
    FIELD(dim, 8, 40, I16, 16, I64),           FIELD(datatype, 1, 70, I16, 12, I16),
    FIELD(bits, 1, 72, I16, 14, I16),          FIELD(pixdim, 8, 76, F32, 104, F64),
    FIELD(offset, 1, 108, F32, 168, I64),      FIELD(slope, 1, 112, SCALE, 176, F64),
    FIELD(intercept, 1, 116, SCALE, 184, F64), FIELD(units, 1, 123, I8, 500, I32),
    FIELD(qform, 1, 252, I16, 344, I32),       FIELD(sform, 1, 254, I16, 348, I32),
    FIELD(b, 1, 256, F32, 352, F64),           FIELD(c, 1, 260, F32, 360, F64),
    FIELD(d, 1, 264, F32, 368, F64),           FIELD(origin, 3, 268, F32, 376, F64),
    FIELD(rows, 12, 280, F32, 400, F64),       FIELD(first, 1, 136, F32, 216, F64),
    FIELD(intent_code, 1, 68, I16, 504, I32),
};
static const size_t kind_bytes[] = {
    [I8] = 1, [I16] = 2, [I32] = 4, [I64] = 8, [F32] = 4, [F64] = 8, [SCALE] = 4};
static const struct {
    size_t bytes, text, intent, magic, magic_bytes;
    const char *magic_one, *magic_pair;
} versions[] = {{NIFTI_1_BYTES, 148, 328, 344, 4, "n+1", "ni1"},
                {NIFTI_2_BYTES, 240, 508, 4, 8, "n+2\0\r\n\032\n", "ni2\0\r\n\032\n"}};

/* ---- types ----------------------------------------------------------------------------------- */

enum { NIFTI_INT64 = 1024 };

static const struct {
    int datatype;
    enum ts_dtype dtype;
} types[] = {{2, TS_U8},   {4, TS_I16},   {8, TS_I32},   {16, TS_F32},          {64, TS_F64},
             {256, TS_I8}, {512, TS_U16}, {768, TS_U32}, {NIFTI_INT64, TS_U64}, {1280, TS_U64}};

int ts_nifti_datatype(enum ts_dtype dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype)
            return types[i].datatype;
    return 0;
}

/* Finds the element type of a code. Returns false if there is none. */
static bool nifti_dtype(int datatype, enum ts_dtype *dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].datatype == datatype) {
            *dtype = types[i].dtype;
            return true;
        }
    return false;
}

/* Returns the name of a code that nifti_dtype does not know, for messages. */
static const char *nifti_name(int datatype)
{
    switch (datatype) {
    case 1:
        return "single bits";
    case 32:
    case 1792:
    case 2048:
        return "complex numbers";
    case 128:
    case 2304:
        return "RGB colors";
    case 1536:
        return "floats of 128 bits";
    default:
        return "an unknown type";
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Returns the double of the shortest decimal text that rounds to this float. */
static double shortest(float value)
{
    char text[32];
    for (int digits = FLT_DIG; digits < FLT_DECIMAL_DIG; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            return strtod(text, NULL);
    }
    return (double)value;
}

static void copy(unsigned char *to, const unsigned char *from, size_t n, bool swapped)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[swapped ? n - 1 - i : i];
}

static double load(const unsigned char *from, enum kind kind, bool swapped)
{
    union {
        unsigned char bytes[8];
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
    } value = {{0}};
    copy(value.bytes, from, kind_bytes[kind], swapped);
    switch (kind) {
    case I8:
        return value.i8;
    case I16:
        return value.i16;
    case I32:
        return value.i32;
    case I64:
        return (double)value.i64;
    case F32:
        return shortest(value.f32);
    case SCALE:
        return value.f32;
    case F64:
        break;
    }
    return value.f64;
}

static void nifti_store(unsigned char *to, enum kind kind, double number)
{
    const bool is_single = kind == F32 || kind == SCALE;
    const int64_t whole = is_single || kind == F64 ? 0 : (int64_t)number;
    const float single = (float)number;
    if (kind == F64)
        memcpy(to, &number, sizeof number);
    else if (is_single)
        memcpy(to, &single, sizeof single);
    else /* the lowest bytes come first */
        memcpy(to, &whole, kind_bytes[kind]);
}

const char *ts_nifti_decode(const unsigned char *bytes, size_t n, struct nifti_header *header)
{
    *header = (struct nifti_header){0};
    for (int version = 1; version <= 2 && n >= 4; version++)
        for (int swapped = 0; swapped < 2; swapped++)
            if (load(bytes, I32, swapped) == (double)versions[version - 1].bytes) {
                header->version = version;
                header->swapped = swapped;
            }
    if (header->version == 0)
        return "is no NIfTI file";
    const int v = header->version - 1;
    if (n < versions[v].bytes)
        return "ends within its NIfTI header";
    const unsigned char *magic = bytes + versions[v].magic;
    header->pair = !memcmp(magic, versions[v].magic_pair, versions[v].magic_bytes);
    if (!header->pair && memcmp(magic, versions[v].magic_one, versions[v].magic_bytes) != 0)
        return "has a header of NIfTI's size without its mark; it may be an Analyze file, which "
               "says nothing of left and right";
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        for (int i = 0; i < fields[f].n; i++) {
            const struct place *place = &fields[f].places[v];
            const double number = load(bytes + place->offset + (size_t)i * kind_bytes[place->kind],
                                       place->kind, header->swapped);
            memcpy((unsigned char *)header + fields[f].at + (size_t)i * sizeof number, &number,
                   sizeof number);
        }
    memcpy(header->text, bytes + versions[v].text, NIFTI_TEXT_BYTES - 1);
    return NULL;
}

size_t ts_nifti_encode(const struct nifti_header *header, unsigned char bytes[NIFTI_2_BYTES + 4])
{
    const int v = header->version - 1;
    memset(bytes, 0, NIFTI_2_BYTES + 4);
    nifti_store(bytes, I32, (double)versions[v].bytes);
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        for (int i = 0; i < fields[f].n; i++) {
            const struct place *place = &fields[f].places[v];
            double number;
            memcpy(&number,
                   (const unsigned char *)header + fields[f].at + (size_t)i * sizeof number,
                   sizeof number);
            nifti_store(bytes + place->offset + (size_t)i * kind_bytes[place->kind], place->kind,
                        number);
        }
    memcpy(bytes + versions[v].text, header->text, strlen(header->text));
    memcpy(bytes + versions[v].intent, header->intent, strlen(header->intent));
    memcpy(bytes + versions[v].magic, versions[v].magic_one, versions[v].magic_bytes);
    return versions[v].bytes + 4;
}

/* Two transforms are the same if they place no voxel farther apart than half a voxel or a
   thousandth of the volume's diagonal; the latter because the float a of a quaternion that turns by
   half a circle has an error of 3.5e-4. */
static const double SAME_VOXEL = 0.5, SAME_TURN = 1e-3;

/* ---- transforms ------------------------------------------------------------------------------ */

/* Makes the transform of the qform with these spacings. */
static void turn_of(const struct nifti_header *header, const double *spacings, double rows[3][4])
{
    const double b = header->b, c = header->c, d = header->d;
    const double rest = 1 - (b * b + c * c + d * d);
    const double a = rest > 0 ? sqrt(rest) : 0,
                 norm = rest > 0 ? 1 : 1 / sqrt(b * b + c * c + d * d);
    const double sign = header->pixdim[0] < 0 ? -1 : 1;
    const double q[4] = {a, b * norm, c * norm, d * norm};
    const double turn[3][3] = {{q[0] * q[0] + q[1] * q[1] - q[2] * q[2] - q[3] * q[3],
                                2 * (q[1] * q[2] - q[0] * q[3]), 2 * (q[1] * q[3] + q[0] * q[2])},
                               {2 * (q[1] * q[2] + q[0] * q[3]),
                                q[0] * q[0] + q[2] * q[2] - q[1] * q[1] - q[3] * q[3],
                                2 * (q[2] * q[3] - q[0] * q[1])},
                               {2 * (q[1] * q[3] - q[0] * q[2]), 2 * (q[2] * q[3] + q[0] * q[1]),
                                q[0] * q[0] + q[3] * q[3] - q[1] * q[1] - q[2] * q[2]}};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            rows[i][j] = turn[i][j] * spacings[j] * (j == 2 ? sign : 1);
        rows[i][3] = header->origin[i];
    }
}

bool ts_nifti_transform(const struct nifti_header *header, double rows[3][4])
{
    if (header->sform > 0)
        memcpy(rows, header->rows, sizeof header->rows);
    else if (header->qform > 0)
        turn_of(header, header->pixdim + 1, rows);
    return header->sform > 0 || header->qform > 0;
}

static double determinant(const double r[3][4])
{
    return r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1]) -
           r[0][1] * (r[1][0] * r[2][2] - r[1][2] * r[2][0]) +
           r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0]);
}

double ts_nifti_apart(const struct nifti_header *header, double *tolerance, bool *mirrored)
{
    double sform[3][4], qform[3][4], spacings[3], diagonal = 0, least = INFINITY, apart = 0;
    memcpy(sform, header->rows, sizeof sform);
    for (int j = 0; j < 3; j++) {
        const double steps = header->dim[0] > j ? fmax(header->dim[1 + j] - 1, 0) : 0;
        spacings[j] =
            sqrt(sform[0][j] * sform[0][j] + sform[1][j] * sform[1][j] + sform[2][j] * sform[2][j]);
        diagonal += spacings[j] * steps * spacings[j] * steps;
        least = steps > 0 ? fmin(least, spacings[j]) : least;
    }
    turn_of(header, spacings, qform);
    for (int corner = 0; corner < 8; corner++) {
        double square = 0;
        for (int i = 0; i < 3; i++) {
            double off = qform[i][3] - sform[i][3];
            for (int j = 0; j < 3; j++)
                if (corner >> j & 1 && header->dim[0] > j)
                    off += (header->dim[1 + j] - 1) * (qform[i][j] - sform[i][j]);
            square += off * off;
        }
        apart = fmax(apart, sqrt(square));
    }
    *tolerance = fmax(isfinite(least) ? SAME_VOXEL * least : 0, SAME_TURN * sqrt(diagonal));
    *mirrored = determinant(sform) * determinant(qform) < 0;
    return apart;
}

/* Finds the quaternion of a rotation matrix with columns r. Of four equivalent formulas it takes
   the one with the largest divisor (S. W. Shepperd, 1978). */
static void quaternion_of(const double r[3][3], double q[4])
{
    const double trace = r[0][0] + r[1][1] + r[2][2];
    const double squares[4] = {1 + trace, 1 + 2 * r[0][0] - trace, 1 + 2 * r[1][1] - trace,
                               1 + 2 * r[2][2] - trace};
    int best = 0;
    for (int i = 1; i < 4; i++)
        if (squares[i] > squares[best])
            best = i;
    const double s = 2 * sqrt(squares[best]);
    const double differences[3] = {r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]};
    q[best] = s / 4;
    for (int i = 1; i < 4; i++)
        if (best == 0)
            q[i] = differences[i - 1] / s;
        else if (i != best)
            q[i] = (r[i - 1][best - 1] + r[best - 1][i - 1]) / s;
    if (best > 0)
        q[0] = differences[best - 1] / s;
    if (q[0] < 0)
        for (int i = 0; i < 4; i++)
            q[i] = -q[i];
}

void ts_nifti_set_transform(struct nifti_header *header, const double rows[3][4])
{
    double r[3][3], q[4];
    double shear = 0, volume;
    memcpy(header->rows, rows, sizeof header->rows);
    header->sform = NIFTI_SCANNER;
    for (int j = 0; j < 3; j++) {
        header->pixdim[1 + j] =
            sqrt(rows[0][j] * rows[0][j] + rows[1][j] * rows[1][j] + rows[2][j] * rows[2][j]);
        for (int i = 0; i < 3; i++)
            r[i][j] = rows[i][j] / header->pixdim[1 + j];
        header->origin[j] = rows[j][3];
    }
    for (int j = 0; j < 3; j++)
        shear = fmax(shear, fabs(r[0][j] * r[0][(j + 1) % 3] + r[1][j] * r[1][(j + 1) % 3] +
                                 r[2][j] * r[2][(j + 1) % 3]));
    volume = r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1]) -
             r[0][1] * (r[1][0] * r[2][2] - r[1][2] * r[2][0]) +
             r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0]);
    header->pixdim[0] = volume < 0 ? -1 : 1;
    header->qform = shear < 1e-5 ? NIFTI_SCANNER : NIFTI_UNKNOWN;
    for (int i = 0; i < 3; i++)
        r[i][2] *= header->pixdim[0];
    quaternion_of(r, q);
    header->b = q[1];
    header->c = q[2];
    header->d = q[3];
}

/* ---- nifti ----------------------------------------------------------------------------------- */

static const struct param nifti_params[] = {
    PARAM(struct nifti_params, nifti, .required = true, .unit = "",
          .doc = "a NIfTI file of a volume, or of several by time: .nii, .nii.gz, or .hdr with the "
                 "file .img beside it"),
    VOLUME_QUANTITY_PARAM(struct nifti_params),
    TAKE_PARAM(struct nifti_params),
    SLICES_PARAM(struct nifti_params),
};

/* Values begin before this byte, since only a header and extensions, which are short texts, come
   before them. */
enum { MOST_OFFSET = 1 << 28 };
/* relative tolerance of spacings; 0.49 and 0.488 are the same */
static const double SAME_SPACING = 0.01;

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
            return ts_diag_hint(diag,
                                "a chain reads volumes along a fourth axis: in Python: "
                                "nibabel.save(nibabel.load('FILE').slicer[:, :, :, :, 0], "
                                "'NEW.nii'), and then input: {nifti: NEW.nii}, takes the first of "
                                "the fifth");
        }
    return TS_OK;
}

static enum ts_status take_type(struct volume_layout *layout, const struct nifti_header *header,
                                struct ts_diag *diag)
{
    const int datatype = (int)header->datatype;
    if (!nifti_dtype(datatype, &layout->stored)) {
        ts_volume_refuse(layout, "nifti-type", diag,
                         "holds %s (datatype %d), not integers or floats of at most 64 bits",
                         nifti_name(datatype), datatype);
        return strcmp(nifti_name(datatype), "complex numbers") != 0
                   ? TS_BAD_INPUT
                   : ts_diag_hint(diag, "their magnitudes are read: in Python: i = "
                                        "nibabel.load('FILE'); nibabel.save(nibabel.Nifti1Image("
                                        "abs(i.dataobj[...]).astype('f4'), i.affine), 'NEW.nii'), "
                                        "and then input: {nifti: NEW.nii}");
    }
    layout->is_signed = datatype == NIFTI_INT64;
    const double bits = 8 * (double)ts_dtype_bytes(layout->stored);
    if (header->bits != bits) {
        ts_volume_refuse(
            layout, "nifti-header", diag,
            "contradicts itself: its values have %g bits by datatype (%d), and %g by bitpix", bits,
            datatype, header->bits);
        return ts_diag_hint(diag, "correct the one that is wrong");
    }
    layout->swapped = header->swapped;
    /* A slope of 0 means that there is no scale. */
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

/* Returns the header's unit of length in mm. Without a unit it is mm, as other programs assume. */
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

/* Returns how many of the header's units of time make a second; 0 if it states no unit of time. */
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

/* Takes the name and the values of a sweep from a header that this program wrote; other headers
   have no name for the axis. */
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

/* Takes the name and the unit of a fourth axis whose unit is not one of time. */
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

/* Names the fourth axis of a file whose intent says that each voxel has several numbers, which the
 * standard keeps along the fifth. */
static void take_components(struct volume_layout *layout, const struct nifti_header *header,
                            struct ts_diag *diag)
{
    const double code = header->intent_code;
    if (layout->by || layout->n[3] < 2 ||
        !((code >= NIFTI_GENMATRIX && code <= NIFTI_QUATERNION) || code == NIFTI_RGB_VECTOR ||
          code == NIFTI_RGBA_VECTOR))
        return;
    layout->by = "component";
    layout->step = 1;
    const struct diag_site site = {
        .code = "nifti-components", .span = layout->span, .stage = layout->site};
    ts_diag_warning(diag, &site,
                    "%s says that its voxels hold vectors, matrices or colors (intent code %g): "
                    "its %lld volumes are taken for their components, and not for times",
                    layout->path, code, (long long)layout->n[3]);
}

/* Takes the times of volumes, if the header states their unit. Ignores a first time so large that
   adding the step does not change it, since all volumes would have one time. */
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

/* Tells of a step of volumes that is not used as it is stated, after the files beside the image. */
static void tell_step(const struct volume_layout *layout, const struct nifti_header *header,
                      struct ts_diag *diag)
{
    const double step = header->pixdim[4];
    const struct diag_site site = {
        .code = "nifti-times", .span = layout->span, .stage = layout->site};
    if (layout->by || layout->n[3] < 2 || layout->positions || !(units_per_second(header) > 0))
        return;
    if (layout->step == 0)
        ts_diag_note(diag, &site,
                     "%s has a step of its volumes (pixdim[4]) of %g, which is none: they are "
                     "numbered",
                     layout->path, step);
    else if (step < 0)
        ts_diag_warning(diag, &site,
                        "%s has a negative step of its volumes (pixdim[4]) of %g: it is taken "
                        "without its sign",
                        layout->path, step);
}

/* Leaves the sform of a header out that cannot place voxels, or not at right angles, where there is
 * a qform, which can turn only: as ITK does. */
static void settle_forms(const struct volume_layout *layout, struct nifti_header *header,
                         struct ts_diag *diag)
{
    double sform[3][4], qform[3][4];
    struct nifti_header other = *header;
    other.sform = 0;
    if (!(header->sform > 0) || !(header->qform > 0) || !ts_nifti_transform(header, sform) ||
        !ts_nifti_transform(&other, qform))
        return;
    const char *wrong = ts_volume_transform_fault(sform);
    if (!wrong || ts_volume_transform_fault(qform))
        return;
    const struct diag_site site = {
        .code = "nifti-forms", .span = layout->span, .stage = layout->site};
    ts_diag_warning(diag, &site,
                    "%s has an sform (code %g) that %s, and is not used: its qform (code %g) is",
                    layout->path, header->sform, wrong, header->qform);
    *header = other;
}

/* The squares of b, c and d of a rotation add up to 1 at most; rounded floats exceed it a little.
 */
static const double MOST_TURN = 1.01;

static enum ts_status check_turn(const struct volume_layout *layout,
                                 const struct nifti_header *header, struct ts_diag *diag)
{
    const double turn = header->b * header->b + header->c * header->c + header->d * header->d;
    if (header->sform > 0 || !(header->qform > 0) || turn <= MOST_TURN)
        return TS_OK;
    return ts_volume_refuse(layout, "nifti-header", diag,
                            "has a qform whose b, c and d (%g, %g, %g) are those of no rotation",
                            header->b, header->c, header->d);
}

/* The spacings are those of pixdim if the lengths of the transform's columns agree with them. */
static void take_geometry(struct volume_layout *layout, const struct nifti_header *header)
{
    const double mm = unit_mm(header);
    /* This program always states mm if it knows lengths; others do not. */
    const bool is_unitless =
        !strncmp(header->text, "tomostage ", 10) && !((int)header->units & NIFTI_LENGTHS);
    double size = 1, origin = 0;
    layout->upwards = true;
    layout->unplaced_hint =
        "in Python: nibabel.save(nibabel.processing.resample_to_output(nibabel.load('FILE')), "
        "'NEW.nii'), and then input: {nifti: NEW.nii}, resamples it; without a transform that is "
        "wrong (sform_code 0, qform_code 0) it is read without its place";
    layout->has_transform = ts_nifti_transform(header, layout->transform);
    for (int d = 0; d < 3; d++) {
        double length = 0;
        for (int i = 0; i < 3; i++) {
            layout->transform[i][d] *= mm * (i < 2 ? -1 : 1);
            length += layout->transform[i][d] * layout->transform[i][d];
        }
        layout->transform[d][3] *= mm * (d < 2 ? -1 : 1);
        length = sqrt(length);
        size *= length;
        origin += layout->transform[d][3];
        const double spacing = fabs(header->pixdim[1 + d]) * mm;
        const bool agree = !layout->has_transform || fabs(spacing - length) <= 1e-5 * length;
        layout->spacing[d] = agree ? spacing : length;
        if (!(layout->spacing[d] < 1e9) || (is_unitless && !layout->has_transform))
            layout->spacing[d] = 0;
    }
    /* Nothing can resample what gives voxels no place, or several voxels one. */
    if (!(fabs(determinant(layout->transform)) > 1e-9 * size) || !isfinite(origin))
        layout->unplaced_hint =
            "in Python: i = nibabel.load('FILE'); i.header['sform_code'] = i.header['qform_code'] "
            "= 0; nibabel.Nifti1Image(i.dataobj, None, i.header).to_filename('NEW.nii'), and then "
            "input: {nifti: NEW.nii}, reads it without its place";
}

/* Warns of a header whose two transforms differ: the one that is not used may be right. */
static void warn_of_forms(const struct volume_layout *layout, const struct nifti_header *header,
                          struct ts_diag *diag)
{
    const struct diag_site site = {
        .code = "nifti-forms", .span = layout->span, .stage = layout->site};
    double tolerance;
    bool mirrored;
    for (int d = 0; d < 3 && header->qform > 0 && !(header->sform > 0); d++)
        if (header->pixdim[1 + d] < 0)
            ts_diag_warning(diag, &site,
                            "%s has a negative pixdim along %c (%g), which the standard excludes, "
                            "and no sform: its qform is mirrored along it, and other programs may "
                            "not mirror it",
                            layout->path, "xyz"[d], header -> pixdim[1 + d]);
    if (!(header->sform > 0) || ts_volume_transform_fault(layout->transform)) /* which is refused */
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

/* The values are behind the header, or in the .img file of the same name. */
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
    if (status == TS_OK)
        status = check_turn(&layout, &header, diag);
    if (status == TS_OK) {
        take_components(&layout, &header, diag);
        take_spectrum(&layout, &header);
        take_times(&layout, &header, diag);
        settle_forms(&layout, &header, diag);
        take_geometry(&layout, &header);
        ts_nifti_read_beside(&layout, diag);
        if (status == TS_OK)
            tell_step(&layout, &header, diag);
        warn_of_forms(&layout, &header, diag);
    }
    layout.quantity = (enum ts_quantity)params->quantity;
    if (status == TS_OK)
        ts_nifti_read_quantity(&layout, ts_volume_quantity_given(set));
    layout.labels = header.intent_code == NIFTI_LABEL || header.intent_code == NIFTI_NEURONAME;
    return ts_volume_source_take(&layout, status, source, diag);
}

const struct source_format nifti_format = {
    .name = "nifti",
    .summary = "a volume in a NIfTI file, or several by time",
    .params = nifti_params,
    .n_params = sizeof nifti_params / sizeof nifti_params[0],
    .params_bytes = sizeof(struct nifti_params),
    .open = open_nifti,
    .resolve = ts_volume_resolve,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * The fields go through a table of their places and types in both versions. A qform is a turn by
 * the quaternion (a, b, c, d), whose a follows from the others, with spacings pixdim[1..3] and the
 * sign pixdim[0] of the third axis.
 */
#include "io/volume/nifti_header.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { I8, I16, I32, I64, F32, F64 };
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
    FIELD(dim, 8, 40, I16, 16, I64),         FIELD(datatype, 1, 70, I16, 12, I16),
    FIELD(bits, 1, 72, I16, 14, I16),        FIELD(pixdim, 8, 76, F32, 104, F64),
    FIELD(offset, 1, 108, F32, 168, I64),    FIELD(slope, 1, 112, F32, 176, F64),
    FIELD(intercept, 1, 116, F32, 184, F64), FIELD(units, 1, 123, I8, 500, I32),
    FIELD(qform, 1, 252, I16, 344, I32),     FIELD(sform, 1, 254, I16, 348, I32),
    FIELD(b, 1, 256, F32, 352, F64),         FIELD(c, 1, 260, F32, 360, F64),
    FIELD(d, 1, 264, F32, 368, F64),         FIELD(origin, 3, 268, F32, 376, F64),
    FIELD(rows, 12, 280, F32, 400, F64),     FIELD(first, 1, 136, F32, 216, F64),
};
static const size_t kind_bytes[] = {
    [I8] = 1, [I16] = 2, [I32] = 4, [I64] = 8, [F32] = 4, [F64] = 8};
static const struct {
    size_t bytes, text, intent, magic, magic_bytes;
    const char *magic_one, *magic_pair;
} versions[] = {{NIFTI_1_BYTES, 148, 328, 344, 4, "n+1", "ni1"},
                {NIFTI_2_BYTES, 240, 508, 4, 8, "n+2\0\r\n\032\n", "ni2\0\r\n\032\n"}};

/* ---- types ----------------------------------------------------------------------------------- */

static const struct {
    int datatype;
    enum ts_dtype dtype;
} types[] = {{2, TS_U8},   {4, TS_I16},  {8, TS_I32},   {16, TS_F32},
             {64, TS_F64}, {256, TS_I8}, {512, TS_U16}, {768, TS_U32}};

int ts_nifti_datatype(enum ts_dtype dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype)
            return types[i].datatype;
    return 0;
}

bool ts_nifti_dtype(int datatype, enum ts_dtype *dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].datatype == datatype) {
            *dtype = types[i].dtype;
            return true;
        }
    return false;
}

const char *ts_nifti_name(int datatype)
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
    case 1024:
    case 1280:
        return "integers of 64 bits";
    case 1536:
        return "floats of 128 bits";
    default:
        return "an unknown type";
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Returns the double that the shortest decimal text stands for which rounds to this float. */
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
    case F64:
        break;
    }
    return value.f64;
}

static void store(unsigned char *to, enum kind kind, double number)
{
    const int64_t whole = kind == F32 || kind == F64 ? 0 : (int64_t)number;
    const float single = (float)number;
    if (kind == F64)
        memcpy(to, &number, sizeof number);
    else if (kind == F32)
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
    store(bytes, I32, (double)versions[v].bytes);
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        for (int i = 0; i < fields[f].n; i++) {
            const struct place *place = &fields[f].places[v];
            double number;
            memcpy(&number,
                   (const unsigned char *)header + fields[f].at + (size_t)i * sizeof number,
                   sizeof number);
            store(bytes + place->offset + (size_t)i * kind_bytes[place->kind], place->kind, number);
        }
    memcpy(bytes + versions[v].text, header->text, strlen(header->text));
    memcpy(bytes + versions[v].intent, header->intent, strlen(header->intent));
    memcpy(bytes + versions[v].magic, versions[v].magic_one, versions[v].magic_bytes);
    return versions[v].bytes + 4;
}

/* Two transforms are the same if they place no voxel farther apart than half a voxel or, since the
 * float a of a quaternion that turns by half a circle is good to 3.5e-4, a thousandth of the
 * volume's diagonal. */
static const double SAME_VOXEL = 0.5, SAME_TURN = 1e-3;

/* ---- transforms ------------------------------------------------------------------------------ */

/* Fills in the qform with these spacings. */
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

/* Finds the quaternion of a turn, whose columns are r. Of four equivalent formulas the one with the
 * largest divisor is taken (S. W. Shepperd, 1978). */
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

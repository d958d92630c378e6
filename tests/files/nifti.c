/* SPDX-License-Identifier: Apache-2.0
 *
 * See nifti.h. Source: NIfTI-1 header (nifti1.h, R. Cox and others, 2004).
 */
#include "tests/files/nifti.h"

#include <criterion/criterion.h>
#include <libdeflate.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 348, TYPE_I16 = 4, TYPE_F32 = 16, TYPE_F64 = 64, TYPE_U16 = 512 };

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t got;
    cr_assert_not_null(file, "%s", path);
    fseek(file, 0, SEEK_END);
    const size_t length = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(length + 1);
    cr_assert(bytes && fread(bytes, 1, length, file) == length && length > HEADER_BYTES);
    fclose(file);
    if ((unsigned char)bytes[0] != 0x1F)
        return bytes;
    uint32_t size; /* gzip ends in the length of its content */
    memcpy(&size, bytes + length - 4, sizeof size);
    char *plain = malloc(size);
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    cr_assert_eq(libdeflate_gzip_decompress(inflater, bytes, length, plain, size, &got),
                 LIBDEFLATE_SUCCESS);
    libdeflate_free_decompressor(inflater);
    free(bytes);
    return plain;
}

static double value_of(const char *bytes, int type, size_t i)
{
    int16_t integer;
    uint16_t natural;
    float real;
    double exact;
    switch (type) {
    case TYPE_I16:
        memcpy(&integer, bytes + i * sizeof integer, sizeof integer);
        return integer;
    case TYPE_U16:
        memcpy(&natural, bytes + i * sizeof natural, sizeof natural);
        return natural;
    case TYPE_F32:
        memcpy(&real, bytes + i * sizeof real, sizeof real);
        return real;
    default:
        memcpy(&exact, bytes + i * sizeof exact, sizeof exact);
        return exact;
    }
}

struct nifti ts_nifti_read(const char *path)
{
    struct nifti nifti = {.has_affine = false};
    char *bytes = read_whole(path);
    int16_t dimensions[8], type, sform;
    float spacing[8], offset, slope, intercept, rows[12];
    memcpy(dimensions, bytes + 40, sizeof dimensions);
    memcpy(&type, bytes + 70, sizeof type);
    memcpy(spacing, bytes + 76, sizeof spacing);
    memcpy(&offset, bytes + 108, sizeof offset);
    memcpy(&slope, bytes + 112, sizeof slope);
    memcpy(&intercept, bytes + 116, sizeof intercept);
    memcpy(&sform, bytes + 254, sizeof sform);
    memcpy(rows, bytes + 280, sizeof rows);
    cr_assert(type == TYPE_I16 || type == TYPE_F32 || type == TYPE_F64 || type == TYPE_U16,
              "%s: type %d", path, type);
    const bool scaled = slope != 0 && !isnan(slope);
    size_t count = 1;
    nifti.slope = scaled ? (double)slope : 1;
    for (int i = 0; i < 4; i++) {
        nifti.n[i] = i < dimensions[0] ? dimensions[i + 1] : 1;
        nifti.spacing[i] = spacing[i + 1];
        count *= (size_t)nifti.n[i];
    }
    nifti.has_affine = sform > 0;
    for (int i = 0; i < 12; i++)
        nifti.affine[i / 4][i % 4] = rows[i];
    nifti.values = malloc(count * sizeof *nifti.values);
    for (size_t i = 0; i < count; i++) {
        const double value = value_of(bytes + (size_t)offset, type, i);
        nifti.values[i] = (float)(scaled ? value * (double)slope + (double)intercept : value);
    }
    free(bytes);
    return nifti;
}

/* Returns the index of the image's voxel at a place in the reference, which must be one. */
static size_t find_voxel(const struct nifti *nifti, const struct ts_image *image,
                         const int64_t at[3], const char *name)
{
    double off[3];
    int64_t index[3];
    for (int i = 0; i < 3; i++) {
        double ras = nifti->affine[i][3];
        for (int k = 0; k < 3; k++)
            ras += nifti->affine[i][k] * (double)at[k];
        off[i] = (i < 2 ? -ras : ras) - image->origin_mm[i];
    }
    for (int k = 0; k < 3; k++) {
        const double *axis = image->direction + 3 * k, spacing = image->axes[2 - k].spacing;
        const double place = (off[0] * axis[0] + off[1] * axis[1] + off[2] * axis[2]) / spacing;
        index[k] = (int64_t)rint(place);
        cr_assert(fabs(place - rint(place)) < 0.02 && index[k] >= 0 &&
                      index[k] < image->axes[2 - k].n,
                  "%s: voxel (%lld, %lld, %lld) lies at %g on axis %d of the image", name,
                  (long long)at[0], (long long)at[1], (long long)at[2], place, k);
    }
    return (size_t)((index[2] * image->axes[1].n + index[1]) * image->axes[2].n + index[0]);
}

double ts_nifti_compare(const struct nifti *nifti, int64_t t, const struct ts_image *image,
                        const void *data, double factor, double tolerance, const char *name)
{
    double worst = 0;
    bool varies = false;
    cr_assert(nifti->has_affine && t < nifti->n[3], "%s", name);
    cr_assert(nifti->n[0] * nifti->n[1] * nifti->n[2] == (int64_t)ts_image_count(image), "%s",
              name);
    const float *values = nifti->values + t * nifti->n[0] * nifti->n[1] * nifti->n[2];
    for (int64_t z = 0; z < nifti->n[2]; z++)
        for (int64_t y = 0; y < nifti->n[1]; y++)
            for (int64_t x = 0; x < nifti->n[0]; x++) {
                const size_t i = find_voxel(nifti, image, (int64_t[]){x, y, z}, name);
                const double expected =
                    factor * (double)values[(z * nifti->n[1] + y) * nifti->n[0] + x];
                double value;
                ts_load_f64(&value, (const char *)data + i * ts_dtype_bytes(image->dtype),
                            image->dtype, 1);
                const double error = fabs(value - expected);
                cr_assert(error <= tolerance, "%s (%lld, %lld, %lld): %g, expected %g", name,
                          (long long)x, (long long)y, (long long)z, value, expected);
                varies = varies || values[(z * nifti->n[1] + y) * nifti->n[0] + x] != values[0];
                worst = fmax(worst, error);
            }
    cr_assert(varies, "%s", name);
    return worst;
}

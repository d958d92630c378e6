/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/files/volume_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "io/source/source_slices.h"
#include "tests/files/dicom_open.h"
#include "tests/support/chain_text.h"
#include "tests/support/support.h"

void ts_volume_write(const char *path, const void *data, size_t bytes, bool gzip)
{
    gzFile file = gzopen(path, gzip ? "wb" : "wbT");
    cr_assert(file && gzwrite(file, data, (unsigned)bytes) == (int)bytes);
    cr_assert_eq(gzclose(file), Z_OK);
}

enum ts_status ts_volume_chain_open(const char *format, const char *path, struct source **source,
                                    struct ts_diag *diag)
{
    char text[1024];
    struct ts_chain *chain;
    struct ts_diag *parsed;
    snprintf(text, sizeof text, "tomostage: 2\ninput: {%s: \"%s\"}\nstages: [invert]\n", format,
             path);
    cr_assert_eq(ts_test_parse(text, &chain, &parsed), TS_OK, "%s", ts_test_errors(parsed));
    const enum ts_status status =
        ts_source_open(chain->sources[0].format, &chain->sources[0].set, source, diag);
    ts_diag_destroy(parsed);
    ts_chain_destroy(chain);
    return status;
}

struct source *ts_volume_opened(const char *format, const char *path)
{
    struct source *source;
    struct ts_diag *diag = ts_diag_create();
    const enum ts_status status = ts_volume_chain_open(format, path, &source, diag);
    cr_assert_eq(status, TS_OK, "%s: %s", path,
                 ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
    ts_diag_destroy(diag);
    return source;
}

void ts_volume_refused(const char *format, const char *path, const char *code)
{
    struct source *source;
    struct ts_diag *diag = ts_diag_create();
    enum ts_status status = ts_volume_chain_open(format, path, &source, diag);
    if (status == TS_OK) {
        void *slice = malloc(ts_slice_bytes(&source->image));
        status = source->ops->read(source, 0, 1, slice, diag);
        free(slice);
        source->ops->close(source);
    }
    cr_assert_eq(status, TS_BAD_INPUT, "%s", code);
    cr_assert(ts_test_record(diag, code), "%s, expected %s: %s", ts_diag_get(diag, 0)->code, code,
              ts_diag_get(diag, 0)->message);
    ts_diag_destroy(diag);
}

void ts_volume_check(struct source *source, bool flipped)
{
    const struct ts_image *image = &source->image;
    struct ts_diag *diag = ts_diag_create();
    unsigned char *data = ts_test_read_all(source, diag);
    const int64_t nz = image->axes[0].n, ny = image->axes[1].n, nx = image->axes[2].n;
    for (int64_t z = 0; z < nz; z++)
        for (int64_t y = 0; y < ny; y++)
            for (int64_t x = 0; x < nx; x++) {
                double value;
                ts_load_f64(&value,
                            data + (size_t)((z * ny + y) * nx + x) * ts_dtype_bytes(image->dtype),
                            image->dtype, 1);
                cr_assert_eq(value, (double)(100 * z + 10 * (flipped ? ny - 1 - y : y) + x));
            }
    free(data);
    ts_diag_destroy(diag);
}

void ts_volume_fill(unsigned char values[VOLUME_BYTES])
{
    for (int i = 0; i < VOLUME_NX * VOLUME_NY * VOLUME_NZ; i++) {
        const int x = i % VOLUME_NX, y = i / VOLUME_NX % VOLUME_NY, z = i / VOLUME_NX / VOLUME_NY;
        ts_test_store(values, TS_I16, (size_t)i, 100 * z + 10 * y + x);
    }
}

void ts_volume_check_place(struct source *source)
{
    const struct ts_image *image = &source->image;
    cr_assert(image->axes[2].spacing == 0.7 && image->axes[1].spacing == 0.8 &&
              image->axes[0].spacing == 2);
    cr_assert(image->has_geometry && image->origin_mm[0] == -10 && image->origin_mm[1] == -20);
    cr_assert(image->direction[0] == 1 && image->direction[4] == 1 && image->step_z_mm[2] == 2);
    ts_volume_check(source, false);
    source->ops->close(source);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * DICOM segmentations and structure sets, put on the grid of a small image: as they are, and
 * resampled. Both are parsed in the program itself, and workers decode frames.
 */
#include <stdlib.h>

#include "io/mask/mask.h"
#include "io/mask/region_info.h"
#include "tests/fuzz/fuzz.h"

enum { NX = 12, NY = 9, NZ = 5 };

/* The image that seeds were drawn on (tests/fuzz/make_seeds.py). */
static struct source make_image(void)
{
    return (struct source){.image = {.rank = 3,
                                     .axes = {{TS_AXIS_Z, NZ, 2, "mm", NULL, 0},
                                              {TS_AXIS_Y, NY, 0.5, "mm", NULL, 0},
                                              {TS_AXIS_X, NX, 0.7, "mm", NULL, 0}},
                                     .dtype = TS_I16,
                                     .has_geometry = true,
                                     .origin_mm = {-10, 20, 30},
                                     .direction = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                     .step_z_mm = {0, 0, 2}},
                           .n_slices = NZ,
                           .n_whole = NZ,
                           .n_volumes = 1};
}

static void open_and_read(const char *path, int32_t resample, struct ts_diag *diag)
{
    static int16_t slice[4 * NX * NY];
    const struct source image = make_image();
    struct mask_params values = {0};
    struct param_set set = {.params = mask_format.params,
                            .n_params = mask_format.n_params,
                            .values = &values,
                            .owner = "mask"};
    struct source *source = NULL;
    size_t threshold;
    ts_params_init(&set);
    values.mask = path;
    values.resample = resample;
    if (ts_param_find(set.params, set.n_params, "threshold", &threshold) &&
        resample == MASK_NEAREST)
        set.given = 1U << threshold;
    if (mask_format.open_on(&set, &image, &source, diag) != TS_OK)
        return;
    for (int64_t z = 0; z < NZ; z++)
        (void)source->ops->read(source, z, 1, slice, diag);
    source->ops->close(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[FUZZ_PATH];
    bool known;
    if (bytes > FUZZ_INPUT_MAX)
        return 0;
    fuzz_write("fuzz.dcm", data, bytes, path);
    struct ts_diag *diag = ts_diag_create();
    open_and_read(path, MASK_EXACT, diag);
    open_and_read(path, MASK_NEAREST, diag);
    (void)ts_region_info(path, true, true, fuzz_nowhere(), &known, diag);
    ts_diag_destroy(diag);
    return 0;
}

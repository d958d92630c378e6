/* SPDX-License-Identifier: Apache-2.0
 *
 * A source that is opened describes what it will give. That is held against FUZZ_IMAGE_MAX before
 * slices are read, since a file may state honestly that it holds more than a fuzzer should wait
 * for.
 */
#include "tests/fuzz/source.h"

#include <stdlib.h>

#include "io/volume/volume_info.h"
#include "tests/fuzz/fuzz.h"

/* A gzip stream is inflated as a whole, whichever slices are asked for: so the limit holds for all
 * slices. */
static void read_slices(struct source *source, struct ts_diag *diag)
{
    const size_t bytes = ts_slice_bytes(&source->image), total = (size_t)ts_source_total(source);
    if (bytes == 0 || total > FUZZ_IMAGE_MAX / bytes)
        return;
    void *out = malloc(bytes);
    enum ts_status status =
        out && source->ops->start ? source->ops->start(source, 1, 1, diag) : TS_OK;
    for (int64_t z = 0; out && status == TS_OK && z < source->n_slices && z < 3; z++)
        status = source->ops->read(source, z, 1, out, diag);
    free(out);
}

void fuzz_source(const struct source_format *format, const struct param_set *set,
                 struct ts_diag *diag)
{
    struct source *source = NULL;
    if (format->open(set, &source, diag) == TS_OK) {
        read_slices(source, diag);
        source->ops->close(source);
    }
}

void fuzz_volume(const struct source_format *format, const char *name, const uint8_t *data,
                 size_t bytes)
{
    char path[FUZZ_PATH];
    const char **values = calloc(1, format->params_bytes); /* whose first member is the path */
    struct ts_diag *diag = ts_diag_create();
    if (!values || !diag)
        abort();
    struct param_set set = {
        .params = format->params, .n_params = format->n_params, .values = values, .owner = "input"};
    fuzz_write(name, data, bytes, path);
    ts_params_init(&set);
    values[0] = path;
    fuzz_source(format, &set, diag);
    (void)ts_volume_info(format, path, true, fuzz_nowhere(), diag);
    ts_diag_destroy(diag);
    free(values);
}

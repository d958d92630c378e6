/* SPDX-License-Identifier: Apache-2.0
 *
 * DICOM series of up to six files: `info` of their folder, and the source with its metadata. So
 * images meet that state different positions, times, echoes and weightings of diffusion, the
 * private ones of scanners too. Files begin behind each "DICM" of the input, so that an insertion
 * in one leaves the others whole; their preambles are made here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/dicom_series/dicom_group.h"
#include "io/source/metadata.h"
#include "tests/fuzz/frame.h"

enum { FILES = 6, PREAMBLE = 128, MARK = 4 };

static void write_files(const uint8_t *data, size_t bytes)
{
    static uint8_t file[PREAMBLE + FUZZ_INPUT_MAX];
    char path[FUZZ_PATH], name[16];
    const uint8_t *start = memmem(data, bytes, "DICM", MARK), *end = data + bytes;
    for (int n = 0; n < FILES; n++) {
        snprintf(name, sizeof name, "%d.dcm", n);
        if (!start) {
            snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
            unlink(path);
            continue;
        }
        const uint8_t *next = memmem(start + MARK, (size_t)(end - start) - MARK, "DICM", MARK);
        const size_t n_bytes = (size_t)((next ? next : end) - start);
        memcpy(file + PREAMBLE, start, n_bytes);
        fuzz_write(name, file, PREAMBLE + n_bytes, path);
        start = next;
    }
}

static void write_metadata(const struct source *source, FILE *stream)
{
    struct json json;
    char text[256];
    ts_json_init(&json, stream, true);
    ts_json_open(&json, '{');
    ts_metadata_json(&json, source->attributes, source->n_attributes);
    ts_json_close(&json, '}');
    for (size_t i = 0; i < source->n_attributes; i++)
        ts_metadata_format(&source->attributes[i], text, sizeof text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes > FUZZ_INPUT_MAX)
        return 0;
    write_files(data, bytes);
    struct ts_diag *diag = ts_diag_create();
    (void)ts_dicom_info(fuzz_folder(), false, true, fuzz_nowhere(), diag);
    (void)ts_dicom_info(fuzz_folder(), true, false, fuzz_nowhere(), diag);
    struct source *source = fuzz_dicom_open(diag);
    if (source) {
        write_metadata(source, fuzz_nowhere());
        source->ops->close(source);
    }
    ts_diag_print(diag, fuzz_nowhere());
    ts_diag_destroy(diag);
    return 0;
}

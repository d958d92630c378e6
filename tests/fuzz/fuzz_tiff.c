/* SPDX-License-Identifier: Apache-2.0
 *
 * TIFF files: finding and checking their pages, and reading the first ones; and `info`. libtiff decodes the strips.
 */
#include <stdlib.h>

#include "io/scan/tiff_info.h"
#include "io/scan/tiff_pages.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[FUZZ_PATH];
    if (bytes > FUZZ_INPUT_MAX)
        return 0;
    fuzz_write("fuzz.tif", data, bytes, path);
    struct ts_diag *diag = ts_diag_create();
    struct tiff_pages pages = {.arena = ts_arena_create(), .owner = "input"};
    if (ts_tiff_pages_open(&pages, path, diag) == TS_OK) {
        const size_t row = (size_t)pages.width * ts_dtype_bytes(pages.dtype), size = row * (size_t)pages.height;
        void *rows = size < FUZZ_IMAGE_MAX ? malloc(size ? size : 1) : NULL;
        for (int64_t i = 0; rows && i < pages.n_pages && i < 3; i++)
            (void)ts_tiff_pages_read(&pages, i, 0, pages.height, rows, row, diag);
        free(rows);
    }
    ts_tiff_pages_close(&pages);
    (void)ts_tiff_info(path, true, fuzz_nowhere(), diag);
    ts_arena_destroy(pages.arena);
    ts_diag_destroy(diag);
    return 0;
}

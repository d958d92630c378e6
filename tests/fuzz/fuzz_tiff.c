/* SPDX-License-Identifier: Apache-2.0
 *
 * TIFF files: listing and checking their pages, and decoding the first ones. libtiff decodes the
 * strips. What a worker does is done here, in the process that is watched.
 */
#include <fcntl.h>

#include "io/scan/tiff_library.h"
#include "tests/fuzz/fuzz.h"

enum { PAGES = 3 };

static unsigned char memory[FUZZ_IMAGE_MAX] __attribute__((aligned(16)));

static void decode(struct tiff_library *library, const struct tiff_page *page, const char *path)
{
    const size_t row = page->width * ts_dtype_bytes((enum ts_dtype)page->dtype),
                 rows = sizeof memory / row;
    struct tiff_reply reply = {0};
    struct tiff_job job = {.decode = true, .n = page->height, .page = *page};
    if (job.n > rows)
        job.n = (uint32_t)(rows / page->rows * page->rows);
    if (page->pixels == 0 && job.n > 0)
        ts_tiff_library_work(library, &job, open(path, O_RDONLY), &reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[FUZZ_PATH];
    struct tiff_library library = {.memory = memory, .memory_bytes = sizeof memory};
    struct tiff_page pages[PAGES];
    struct tiff_reply reply = {0};
    if (bytes > FUZZ_INPUT_MAX)
        return 0;
    fuzz_write("fuzz.tif", data, bytes, path);
    ts_tiff_library_work(&library, &(struct tiff_job){.page.number = 1}, open(path, O_RDONLY),
                         &reply);
    const int n = reply.n_pages < PAGES ? reply.n_pages : PAGES;
    for (int i = 0; i < n; i++)
        pages[i] = ((const struct tiff_page *)(const void *)memory)[i];
    for (int i = 0; i < n; i++)
        decode(&library, &pages[i], path);
    ts_tiff_library_close(&library);
    return 0;
}

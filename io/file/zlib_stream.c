/* SPDX-License-Identifier: Apache-2.0
 *
 * libdeflate does all but level 1, for which ISA-L is used if the program was built with it: at its
 * own level 2, several times as fast for files a few percent larger (docs/notes/files.md has the
 * figures). ISA-L chooses its code by the processor, so that two machines may deflate to different
 * bytes, which inflate to the same. libdeflate inflates faster.
 */
#include "io/file/zlib_stream.h"

#include <stdlib.h>

#include <libdeflate.h>
#ifdef TS_HAVE_ISAL
#include <isa-l.h>
#endif

struct zlib_coder {
    struct libdeflate_compressor *compressor;
    struct libdeflate_decompressor *decompressor;
    int level; /* level of the compressor */
    unsigned char *fast;
};

struct zlib_coder *ts_zlib_coder_create(void)
{
    return calloc(1, sizeof(struct zlib_coder));
}

void ts_zlib_coder_destroy(struct zlib_coder *coder)
{
    if (!coder)
        return;
    libdeflate_free_compressor(coder->compressor);
    libdeflate_free_decompressor(coder->decompressor);
    free(coder->fast);
    free(coder);
}

size_t ts_zlib_bound(size_t bytes)
{
    return libdeflate_zlib_compress_bound(NULL, bytes);
}

#ifdef TS_HAVE_ISAL

enum { FAST_LEVEL = 2, FAST_BYTES = ISAL_DEF_LVL2_DEFAULT };

static size_t deflate_fast(struct zlib_coder *coder, const void *data, size_t bytes, void *out,
                           size_t out_bytes)
{
    struct isal_zstream stream;
    isal_deflate_init(&stream);
    stream.level = FAST_LEVEL;
    stream.level_buf = coder->fast;
    stream.level_buf_size = FAST_BYTES;
    stream.gzip_flag = IGZIP_ZLIB;
    stream.end_of_stream = 1;
    stream.next_in = (uint8_t *)data;
    stream.avail_in = (uint32_t)bytes;
    stream.next_out = out;
    stream.avail_out = (uint32_t)out_bytes;
    return isal_deflate(&stream) == COMP_OK && stream.internal_state.state == ZSTATE_END
               ? stream.total_out
               : 0;
}

const char *ts_zlib_isal_version(void)
{
#define TEXT(x) #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)
    return VERSION(ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION, ISAL_PATCH_VERSION);
}

#else

const char *ts_zlib_isal_version(void)
{
    return NULL;
}

#endif

size_t ts_zlib_deflate(struct zlib_coder *coder, int level, const void *data, size_t bytes,
                       void *out, size_t out_bytes)
{
#ifdef TS_HAVE_ISAL
    if (level == 1 && bytes <= UINT32_MAX && out_bytes <= UINT32_MAX) {
        if (!coder->fast && !(coder->fast = malloc(FAST_BYTES)))
            return 0;
        const size_t length = deflate_fast(coder, data, bytes, out, out_bytes);
        if (length > 0)
            return length; /* else it did not fit, which is not a lack of memory */
    }
#endif
    if (!coder->compressor || coder->level != level) {
        libdeflate_free_compressor(coder->compressor);
        coder->compressor = libdeflate_alloc_compressor(level);
        coder->level = level;
    }
    return coder->compressor
               ? libdeflate_zlib_compress(coder->compressor, data, bytes, out, out_bytes)
               : 0;
}

bool ts_zlib_inflate(struct zlib_coder *coder, const void *data, size_t bytes, void *out,
                     size_t out_bytes)
{
    if (!coder->decompressor)
        coder->decompressor = libdeflate_alloc_decompressor();
    /* No length is passed out, because the stream must fill `out` exactly. */
    return coder->decompressor && libdeflate_zlib_decompress(coder->decompressor, data, bytes, out,
                                                             out_bytes, NULL) == LIBDEFLATE_SUCCESS;
}

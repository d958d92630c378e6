/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes slices as pages of one TIFF file, or as one file each in a folder. Values keep their type
 * and are not compressed. The resolution is in pixels a mm without a unit, and ImageJ's description
 * has the unit and the distance of the slices, as ImageJ writes them and tifffile reads them. A
 * file that could pass 2 GiB is a BigTIFF.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include "io/scan/tiff_library.h"
#include "io/sink/sink.h"

enum { STRIP_BYTES = 4 << 20, LARGEST_CLASSIC = INT32_MAX };

struct tiff_pages_file {
    struct sink sink;              /* first */
    TIFF *tiff;                    /* the one file of all pages; NULL in a folder */
    char problem[TIFF_TEXT_BYTES]; /* libtiff's first error */
    int error;                     /* errno of the write that failed; 0: none */
};

static const char *tiff_sink_refusal(const struct sink_request *request)
{
    for (int d = 1; d < 3; d++)
        if (request->image->axes[d].n > INT32_MAX)
            return "its slices are too large for a page";
    return NULL;
}

static int ignore(TIFF *tiff, void *user, const char *module, const char *format, va_list arguments)
{
    (void)tiff;
    (void)user;
    (void)module;
    (void)format;
    (void)arguments;
    return 1;
}

/* libtiff reports a failed write at once, so errno is still that of the write. */
__attribute__((format(printf, 4, 0))) static int
keep_error(TIFF *tiff, void *user, const char *module, const char *format, va_list arguments)
{
    struct tiff_pages_file *file = user;
    if (file->problem[0])
        return 1;
    file->error = errno;
    return ts_tiff_keep_error(tiff, file->problem, module, format, arguments);
}

/* Opens a file through a copy of the descriptor; TIFFClose closes the copy. */
static TIFF *open_tiff(struct tiff_pages_file *file, int fd, size_t bytes)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    const int own = options ? dup(fd) : -1;
    TIFF *tiff = NULL;
    errno = 0;
    if (own >= 0) {
        TIFFOpenOptionsSetErrorHandlerExtR(options, keep_error, file);
        TIFFOpenOptionsSetWarningHandlerExtR(options, ignore, file);
        tiff = TIFFFdOpenExt(own, file->sink.request.path, bytes > LARGEST_CLASSIC ? "w8" : "w",
                             options);
        if (!tiff)
            close(own);
    }
    if (options)
        TIFFOpenOptionsFree(options);
    return tiff;
}

static enum ts_status tiff_sink_fail(struct tiff_pages_file *file, struct ts_diag *diag)
{
    int error;
    if (file->problem[0])
        error = file->error;
    else
        error = errno ? errno : EIO;
    if (error)
        return ts_sink_failed(&file->sink, error, diag);
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-write"},
                         "cannot write the output '%s': %s", file->sink.request.path,
                         file->problem);
}

static bool set_fields(TIFF *tiff, const struct ts_image *image, int64_t pages, int64_t volumes)
{
    const uint32_t width = (uint32_t)image->axes[2].n, height = (uint32_t)image->axes[1].n;
    const size_t row = width * ts_dtype_bytes(image->dtype);
    const uint32_t rows = row > STRIP_BYTES ? 1 : (uint32_t)(STRIP_BYTES / row);
    const bool is_signed =
        image->dtype == TS_I8 || image->dtype == TS_I16 || image->dtype == TS_I32;
    const char *unit = image->axes[2].unit;
    char text[256];
    int n = snprintf(text, sizeof text, "ImageJ=1.53t\n");
    /* The number of images is left out: ImageJ and tifffile would conclude that all values follow
       those of the first page without a gap, but here every page is followed by a directory. */
    if (pages > 1)
        n += snprintf(text + n, sizeof text - (size_t)n, "slices=%lld\n",
                      (long long)(pages / volumes));
    if (volumes > 1)
        n += snprintf(text + n, sizeof text - (size_t)n, "frames=%lld\nhyperstack=true\n",
                      (long long)volumes);
    snprintf(text + n, sizeof text - (size_t)n, "unit=%s\nspacing=%.9g\nloop=false\n",
             *unit ? unit : "pixel", ts_axis_spacing(&image->axes[0]));
    const int whole = is_signed ? SAMPLEFORMAT_INT : SAMPLEFORMAT_UINT;
    return TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width) &&
           TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height) &&
           TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, (int)(8 * ts_dtype_bytes(image->dtype))) &&
           TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1) &&
           TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, rows) &&
           TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT,
                        image->dtype == TS_F32 ? SAMPLEFORMAT_IEEEFP : whole) &&
           TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE) &&
           TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK) &&
           TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) &&
           TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, RESUNIT_NONE) &&
           TIFFSetField(tiff, TIFFTAG_XRESOLUTION, 1 / ts_axis_spacing(&image->axes[2])) &&
           TIFFSetField(tiff, TIFFTAG_YRESOLUTION, 1 / ts_axis_spacing(&image->axes[1])) &&
           TIFFSetField(tiff, TIFFTAG_SOFTWARE, "tomostage") &&
           TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, text);
}

/* Writes a page of a file that will have so many pages and volumes. Its directory comes before its
   values: if the second directory were as far behind the first values as all values are long,
   tifffile would take them for one piece. */
static bool write_page(TIFF *tiff, const struct ts_image *image, unsigned char *slice,
                       int64_t pages, int64_t volumes)
{
    if (!set_fields(tiff, image, pages, volumes) || !TIFFCheckpointDirectory(tiff))
        return false;
    const tmsize_t strip = TIFFStripSize(tiff), all = (tmsize_t)ts_slice_bytes(image);
    for (tmsize_t done = 0; done < all; done += strip)
        if (TIFFWriteEncodedStrip(tiff, (uint32_t)(done / strip), slice + done,
                                  all - done < strip ? all - done : strip) < 0)
            return false;
    return TIFFWriteDirectory(tiff) == 1;
}

static enum ts_status open_file(struct sink *sink, struct ts_diag *diag)
{
    struct tiff_pages_file *file = (struct tiff_pages_file *)sink;
    if (sink->staged[0].is_folder)
        return TS_OK;
    file->tiff = open_tiff(file, sink->staged[0].file.fd,
                           (size_t)ts_sink_slices(sink) * ts_slice_bytes(&sink->image));
    return file->tiff ? TS_OK : tiff_sink_fail(file, diag);
}

static bool write_part(struct tiff_pages_file *file, int64_t z, unsigned char *slice)
{
    struct sink *sink = &file->sink;
    const int fd =
        ts_staged_create_part(&sink->staged[0], z + 1, ts_sink_slices(sink), sink->format->part);
    if (fd < 0)
        return false;
    TIFF *tiff = open_tiff(file, fd, ts_slice_bytes(&sink->image));
    const bool done = tiff && write_page(tiff, &sink->image, slice, 1, 1);
    if (tiff)
        TIFFClose(tiff);
    return close(fd) == 0 && done && !file->problem[0];
}

static enum ts_status tiff_sink_put(struct sink *sink, const struct ts_image *slab,
                                    struct ts_diag *diag)
{
    struct tiff_pages_file *file = (struct tiff_pages_file *)sink;
    const int64_t slices = ts_sink_slices(sink);
    errno = 0;
    for (int64_t z = 0; z < slab->axes[0].n; z++) {
        unsigned char *slice = ts_slice_data(slab, z);
        const bool done = file->tiff ? write_page(file->tiff, &sink->image, slice, slices,
                                                  slices / sink->image.axes[0].n)
                                     : write_part(file, slab->z_first + z, slice);
        if (!done)
            return tiff_sink_fail(file, diag);
    }
    return TS_OK;
}

static enum ts_status tiff_sink_finish(struct sink *sink, struct ts_diag *diag)
{
    struct tiff_pages_file *file = (struct tiff_pages_file *)sink;
    errno = 0;
    if (file->tiff)
        TIFFClose(file->tiff);
    file->tiff = NULL;
    return file->problem[0] ? tiff_sink_fail(file, diag) : TS_OK;
}

static void free_file(struct sink *sink)
{
    struct tiff_pages_file *file = (struct tiff_pages_file *)sink;
    if (file->tiff)
        TIFFClose(file->tiff);
}

const struct sink_format tiff_sink = {
    .name = "tiff",
    .summary = "one TIFF file of a page a slice, .tif or .tiff, or a folder of one file a slice",
    .suffixes = {".tif", ".tiff"},
    .part = ".tif",
    .sink_bytes = sizeof(struct tiff_pages_file),
    .refusal = tiff_sink_refusal,
    .open = open_file,
    .put = tiff_sink_put,
    .finish = tiff_sink_finish,
    .free = free_file,
};

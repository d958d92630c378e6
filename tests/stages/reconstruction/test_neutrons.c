/* SPDX-License-Identifier: Apache-2.0
 *
 * A neutron sinogram of 459 views over a whole turn, with the stripes of dead and slow pixels, from
 * its TIFF to the reconstruction, in one chain; and beside the reconstructions of ASTRA and TomoPy
 * that came with it.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

#include "tests/files/hdf5_data.h"
#include "tests/files/output_fixture.h"
#include "tests/support/chain_run.h"
#include "tests/support/chain_text.h"
#include "tests/support/correlation.h"
#include "tests/support/pictures.h"
#include "tests/support/stage_check.h"
#include "tests/support/support.h"

enum { SIDE = 503, VIEWS = 459, PIXELS = SIDE * SIDE, AXIS = 251 };

static const char scan[] = "projections/sarepy_neutron360/sinogram_360_neutron_image.tif";

static TIFF *create(const char *path, int width, int height, int bits, int compression)
{
    TIFFSetWarningHandler(NULL);
    TIFF *tiff = TIFFOpen(path, "w");
    cr_assert_not_null(tiff);
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, bits);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, height);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, compression);
    return tiff;
}

/* The chain of a user, with the reconstruction before `ring` kept beside the one after it. */
static void reconstruct(const char *folder)
{
    char text[4096];
    snprintf(
        text, sizeof text,
        "tomostage: 2\n"
        "input: {tiff: %s/%s, pages: sinograms, pixel_size: 1, angle_start: 0, angle_stop: 360, "
        "endpoint: true}\n"
        "stages:\n  - air: {detectors: 20}\n  - minus_log: {nonpositive: floor, floor: 0.001}\n"
        "  - center: {name: centered}\n  - fbp:\n  - save: {name: before}\n  - ring: {input: "
        "centered, size: 9}\n"
        "  - fbp:\noutput: {hdf5: out.h5}\n",
        ts_test_data(), scan);
    ts_test_chain_runs(text, folder);
}

/* Returns the mean square by which the means over circles around the axis differ from those of 4
 * neighbors on both sides. */
static double rings(const double *slice)
{
    enum { FIRST = 5, END = 200, REACH = 4 };
    double sums[END + REACH] = {0}, square = 0;
    int counts[END + REACH] = {0};
    for (int i = 0; i < PIXELS; i++) {
        const int y = i / SIDE, x = i % SIDE;
        const long radius = lround(hypot(y - AXIS, x - AXIS));
        if (radius < END + REACH) {
            sums[radius] += slice[i];
            counts[radius]++;
        }
    }
    for (int r = FIRST; r < END; r++) {
        double around = 0;
        for (int i = -REACH; i <= REACH; i++)
            around += sums[r + i] / counts[r + i] / (2 * REACH + 1);
        square += (sums[r] / counts[r] - around) * (sums[r] / counts[r] - around) / (END - FIRST);
    }
    return square;
}

TEST_ON_BOTH(neutrons, lose_their_rings)
{
    char folder[256], output[300];
    size_t n, m, n_center;
    SKIP_WITHOUT_DATA("neutrons/lose_their_rings");
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    reconstruct(folder);
    double *before = ts_test_read_hdf5_at(output, "/entry/before/data", &n),
           *after = ts_test_read_hdf5_at(output, "/entry/data/data", &m),
           *center =
               ts_test_read_hdf5_at(output, "/entry/process_3_center/tables/center", &n_center);
    cr_assert(n == PIXELS && m == n && n_center == 1);
    ts_test_picture("neutrons_before", before, SIDE, SIDE, -0.005, 0.03);
    ts_test_picture("neutrons_after", after, SIDE, SIDE, -0.005, 0.03);
    cr_assert(fabs(*center - 245) < 0.5, "center %.3f", *center);
    cr_assert_lt(100 * rings(after), rings(before), "rings of %g, before %g", rings(after),
                 rings(before));
    free(before);
    free(after);
    free(center);
    ts_test_remove_folder(folder);
}

/* ---- beside other programs ------------------------------------------------------------------- */

/* A gray JPEG file, through libtiff: its stream is that of a strip. */
static void read_jpeg(const char *name, const char *folder, uint8_t pixels[PIXELS])
{
    char path[4096], wrapped[300];
    size_t length;
    snprintf(path, sizeof path, "%s/projections/sarepy_neutron360/%s", ts_test_data(), name);
    snprintf(wrapped, sizeof wrapped, "%s/jpeg.tif", folder);
    char *stream = ts_test_read(path, &length);
    cr_assert_not_null(stream, "%s", path);
    TIFF *tiff = create(wrapped, SIDE, SIDE, 8, COMPRESSION_JPEG);
    cr_assert_eq(TIFFWriteRawStrip(tiff, 0, stream, (tmsize_t)length), (tmsize_t)length);
    TIFFClose(tiff);
    tiff = TIFFOpen(wrapped, "r");
    cr_assert_not_null(tiff);
    cr_assert_eq(TIFFReadEncodedStrip(tiff, 0, pixels, PIXELS), PIXELS, "%s", name);
    TIFFClose(tiff);
    free(stream);
}

/* Returns the correlation of the two within 200 pixels of the axis, ours turned over and round: bit
 * 0 of `turn` exchanges left and right, bit 1 up and down, bit 2 rows and columns. Their grays end
 * at a window, so ours are cut as well. */
static double likeness(const double *ours, const uint8_t *theirs, int turn)
{
    struct correlation sums = {0};
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            const int i = turn & 2 ? SIDE - 1 - y : y, j = turn & 1 ? SIDE - 1 - x : x;
            const double p = fmin(0.03, fmax(-0.005, ours[turn & 4 ? j * SIDE + i : i * SIDE + j])),
                         q = theirs[y * SIDE + x];
            if (hypot(y - AXIS, x - AXIS) < 200)
                ts_correlation_add(&sums, p, q);
        }
    return ts_correlation_of(&sums);
}

/* The author of the data reconstructed them with ASTRA's filtered backprojection and with TomoPy's
 * gridrec, before and after taking out the stripes. The object looks the same in no two directions:
 * a sense of the angles, an axis or an order of axes unlike theirs would show as one of the other
 * seven turns. */
TEST_ON_BOTH(neutrons, lie_as_in_astra_and_tomopy)
{
    static const struct {
        const char *name;
        double least;
    } peers[] = {{"rec_fbp_before_sinogram_360_neutron_image.jpg", 0.96},
                 {"rec_gridrec_before_sinogram_360_neutron_image.jpg", 0.84},
                 {"rec_after_sinogram_360_neutron_image.jpg", 0.96}};
    char folder[256], output[300];
    size_t n;
    SKIP_WITHOUT_DATA("neutrons/lie_as_in_astra_and_tomopy");
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    reconstruct(folder);
    double *ours = ts_test_read_hdf5_at(output, "/entry/data/data", &n);
    uint8_t *theirs = malloc(PIXELS);
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
        read_jpeg(peers[i].name, folder, theirs);
        const double is = likeness(ours, theirs, 0);
        cr_assert_gt(is, peers[i].least, "%s: a correlation of %.4f", peers[i].name, is);
        for (int turn = 1; turn < 8; turn++)
            cr_assert_lt(likeness(ours, theirs, turn), is - 0.09, "%s: turn %d would pass",
                         peers[i].name, turn);
    }
    free(ours);
    free(theirs);
    ts_test_remove_folder(folder);
}

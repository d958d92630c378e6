/* SPDX-License-Identifier: Apache-2.0
 *
 * compare measures how far an image is from a reference of the same grid: differences, PSNR, and
 * the structural similarity SSIM, of each slice and of the volume. This header has what the CPU
 * code and cuda/histogram/compare.cu share: the sums of a slice, the window of SSIM, and SSIM from
 * the means of one window.
 */
#ifndef STAGES_HISTOGRAM_COMPARE_H
#define STAGES_HISTOGRAM_COMPARE_H

#include "core/host_device.h"
#include "stages/engine/stage.h"

struct compare_params {
    struct ts_reference reference;
    double data_range; /* in values of the image */
    int32_t window;    /* enum compare_window */
};
enum compare_window { WINDOW_UNIFORM, WINDOW_GAUSSIAN };

enum { COMPARE_UNIFORM_TAPS = 7, COMPARE_GAUSSIAN_TAPS = 11 };

/* The weight of a pixel in a window is weights[row] * weights[column]; the weights add up to 1. */
struct compare_rule {
    int taps;
    double weights[COMPARE_GAUSSIAN_TAPS];
    double covariance; /* factor that turns variances and covariances into those of a sample */
    double c1, c2;     /* (K1 data_range)^2 and (K2 data_range)^2 */
};
struct compare_rule ts_compare_rule(const struct compare_params *params);

/* The sums of a slice. A pixel with NaN or an infinity in either image is left out, and so are
 * windows with such a pixel. */
struct compare_sums {
    double largest, squares, reference_squares; /* sums of differences, of their squares, and of the
                                                 * reference's squares */
    double similarity;                          /* sum of SSIM over the windows */
    uint64_t n, left_out, n_windows;
};

/* Adds the sums of slice z of images[0] against the reference images[1]. Both have the same shape
 * and, if they are masked, the bits of their valid pixels. */
void ts_compare_slice(const struct compare_rule *rule, const struct ts_image images[2], int64_t z,
                      struct compare_sums *sums);
/* Adds the sums of a further slice. The order of calls decides the last bits. */
void ts_compare_add(struct compare_sums *to, const struct compare_sums *sums);

/* The measures: largest absolute difference, RMS, norm of the differences / norm of the reference,
 * PSNR in dB, and the mean of SSIM. */
enum compare_measure {
    COMPARE_LARGEST,
    COMPARE_RMS,
    COMPARE_RELATIVE,
    COMPARE_PSNR,
    COMPARE_SSIM,
    COMPARE_MEASURES
};
/* Computes the measures; they are NaN if no pixel, or no whole window, was compared. */
void ts_compare_measure(const struct compare_sums *sums, double data_range,
                        double out[COMPARE_MEASURES]);

/* The means of a, b, a^2, b^2 and a b over a window. */
enum compare_mean { MEAN_A, MEAN_B, MEAN_AA, MEAN_BB, MEAN_AB, COMPARE_MEANS };

/* Returns SSIM of one window by the formula of Wang, Bovik, Sheikh and Simoncelli (2004); NaN if a
 * mean is NaN. */
TS_HOST_DEVICE double ts_compare_similarity(double a, double b, double aa, double bb, double ab,
                                            double covariance, double c1, double c2)
{
    const double variances = covariance * (aa - a * a) + covariance * (bb - b * b);
    const double both = covariance * (ab - a * b);
    return (2 * a * b + c1) * (2 * both + c2) / ((a * a + b * b + c1) * (variances + c2));
}

#endif

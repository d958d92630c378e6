/* SPDX-License-Identifier: Apache-2.0
 *
 * radon projects every slice along the rays of a parallel beam or a fan: it makes the sinogram that
 * a scan of the slice would measure. radon.c describes rays and sums. The parameters and the choice
 * of method are here because the CPU code, cuda/projection/radon.cu and the methods in files of
 * their own need them.
 */
#ifndef STAGES_PROJECTION_RADON_H
#define STAGES_PROJECTION_RADON_H

#include "stages/engine/stage.h"

enum radon_method {
    RADON_AUTO,
    RADON_JOSEPH,
    RADON_ROW_FAN_IN,
    RADON_RAY,
    RADON_STACK,
    RADON_TENSOR,
    RADON_TENSOR_SPLIT
};

struct radon_params {
    int32_t beam;                        /* enum ts_beam_kind */
    double source_axis, source_detector; /* in mm; 0 for a parallel beam */
    int64_t views;
    double start, arc;        /* in degrees */
    struct ts_numbers angles; /* in degrees; empty: start + i * arc / views */
    int64_t detectors;
    double detector_spacing; /* mm */
    double center;           /* detector index at the rotation axis */
    int32_t method;          /* enum radon_method */
    double padding_value;    /* value of invalid pixels */
    char unit[64];           /* in no table: the unit of the result, which resolve() writes */
};

#endif

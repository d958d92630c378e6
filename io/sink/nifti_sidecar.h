/* SPDX-License-Identifier: Apache-2.0
 *
 * These are the files beside a NIfTI file, which has no place for what they say: NAME.json with the facts about the
 * input under the keys of BIDS, and for diffusion series NAME.bval and NAME.bvec as FSL reads them.
 * Source: Brain Imaging Data Structure, K. J. Gorgolewski et al., Scientific Data 3 (2016).
 */
#ifndef IO_SINK_NIFTI_SIDECAR_H
#define IO_SINK_NIFTI_SIDECAR_H

#include <stdio.h>

#include "io/sink/sink.h"

/* This says how the volumes of a series follow each other in time. */
struct nifti_timing {
    double step_s; /* 0: their axis is none of time, or the times are not known */
    bool even;     /* each comes one step after the one before it, as exactly as clocks say */
};

/* Finds the step: the Repetition Time where that is how the volumes follow each other, else the mean of their times. */
void ts_nifti_timing(const struct sink_request *request, struct nifti_timing *timing);

/* Writes the text of one file, or nothing where the image has no such file. Returns false where memory is out. */
typedef bool nifti_sidecar_write(FILE *stream, const struct sink_request *request, const struct nifti_timing *timing);
nifti_sidecar_write ts_nifti_write_json, ts_nifti_write_bval, ts_nifti_write_bvec;

#endif

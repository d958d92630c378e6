/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of histogram share the launches of its methods here, beside those of cuda/counting/table_job.cuh.
 */
#ifndef CUDA_HISTOGRAM_HISTOGRAM_CUH
#define CUDA_HISTOGRAM_HISTOGRAM_CUH

#include "cuda/counting/table_job.cuh"

enum { HISTOGRAM_STRIPS = 16 };       /* sub-histogram has at most so many strips side by side */
enum { HISTOGRAM_STRIP_TABLES = 16 }; /* and as many strips for each multiprocessor, if there is scratch for them */

/* sub leaves a table for every strip: the job must have scratch for HISTOGRAM_STRIPS tables of each slice. labels
 * counts pairs of label and slot, in partials of n_labels + 1 rows of work.n_keys slots. */
ts_cuda_table_counter ts_cuda_histogram_global, ts_cuda_histogram_sub, ts_cuda_histogram_warp_tagged,
    ts_cuda_histogram_labels;

#endif

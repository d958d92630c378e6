/* SPDX-License-Identifier: Apache-2.0
 *
 * The studies box-ladder and box-grain share this: cases of the stage box and of its published
 * ways.
 */
#ifndef LAB_STUDY_BOX_STUDY_H
#define LAB_STUDY_BOX_STUDY_H

#include "lab/cuda/box_study.h"
#include "lab/study/study_way.h"

/* This is one line of a study of box: a method of the stage, or a way. */
struct box_line {
    const char *name;   /* in the table and the chart */
    const char *method; /* of the stage; NULL: `way` */
    struct study_way way;
    bool cpu, cuda; /* where a method of the stage is timed */
    int additions;  /* for each pixel: the power of the window's width, on the CPU; 0: it does not
                       depend on it */
};

/* A way of lab/cuda/box_study.h, which builds without CUDA code leave out. */
#ifdef TS_HAVE_CUDA
#define BOX_CUDA_WAY(name, which)                                                                  \
    {                                                                                              \
        (name), NULL,                                                                              \
        {                                                                                          \
            .method = (name), .cuda = &ts_cuda_box_ways[which], .tolerance = {                     \
                .relative = BOX_WAY_ERROR,                                                         \
                .why = "sums of rows are made in float"                                            \
            }                                                                                      \
        }                                                                                          \
    }
#else
#define BOX_CUDA_WAY(name, which)                                                                  \
    {                                                                                              \
        (name)                                                                                     \
    }
#endif

/* The lines of the two studies. A name that is NULL ends them. */
extern const struct box_line ts_box_ladder_lines[], ts_box_grain_lines[];

/* Times a line on square slices of floats and adds its rows. On the CPU it is left out where a run
 * would take more than 2^30 additions, which is a second. */
enum ts_status ts_box_study_line(struct study_run *run, const struct study_row *row,
                                 const struct box_line *line, int64_t slices, int64_t side,
                                 int64_t radius);

#endif

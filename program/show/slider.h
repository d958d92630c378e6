/* SPDX-License-Identifier: Apache-2.0
 *
 * A slider changes one parameter of one stage of a chain, such as "box.radius", and applies that
 * stage again to the shown slice of its input, with the slices around it that the stage needs. The
 * stages before it were run; those after it are left out.
 */
#ifndef PROGRAM_SHOW_SLIDER_H
#define PROGRAM_SHOW_SLIDER_H

#include "pipeline/chain/chain.h"
#include "program/show/renderer.h"
#include "stages/engine/driver.h"

struct slider {
    const struct chain_stage *stage; /* of the chain */
    int32_t stage_index;
    size_t param;
    const struct device_numbers *device; /* NULL: the CPU */
    int threads;
    double value, low, high,
        step;       /* of the parameter as a number, which for a choice is its index */
    double number;  /* `values` points to it if the parameter is a list of one number */
    double seconds; /* time of the last slice */
    char text[96];  /* "box.radius = 3 pixel" */
    struct param_set set;
    void *values;
    struct stage_context context;
    struct ts_image in; /* description of the stage's input */
    struct ts_image
        made; /* one slice; in host memory if the CPU computed it, else as far as it was fetched */
};

/* Finds the stage and the parameter. Returns TS_BAD_CHAIN if there is no such parameter, if it is
   not a number (or list of one), switch or choice, or if the stage has no map or takes further
   images. The chain must outlive the slider. */
enum ts_status ts_slider_find(struct slider *slider, const struct ts_chain *chain, const char *name,
                              struct ts_diag *diag);
/* Prepares the stage for its input and allocates one slice of its output. */
enum ts_status ts_slider_open(struct slider *slider, const struct ts_image *in,
                              const struct device_numbers *device, int threads,
                              struct ts_diag *diag);
/* Sets the parameter to a value, after moving it into its range and to its steps, which are rounded
   to a short decimal. The stage may refuse it (TS_BAD_CHAIN); the slider then stays if it was. */
enum ts_status ts_slider_move(struct slider *slider, double value, struct ts_diag *diag);
/* Computes slice z of the stage's output, for the picture's image VIEW_MADE. The renderer has the
 * input as VIEW_WHOLE. */
enum ts_status ts_slider_make(struct slider *slider, struct renderer *renderer, int64_t z);
void ts_slider_close(struct slider *slider);

#endif

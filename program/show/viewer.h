/* SPDX-License-Identifier: Apache-2.0
 *
 * A viewer owns what is shown, the scene and the renderer, and makes pictures of them. A window and
 * the writer of frames both drive it: they hand keys to the scene, wishes to the viewer, and ask
 * for the next picture.
 */
#ifndef PROGRAM_SHOW_VIEWER_H
#define PROGRAM_SHOW_VIEWER_H

#include <pthread.h>
#include <stdatomic.h>

#include "io/hdf5/hdf5_slice.h"
#include "pipeline/plan/plan.h"
#include "program/show/scene.h"

/* The command line states what to open. */
struct shown_request {
    const char *path;        /* of an image; NULL: `chain` is shown */
    const char *const *sets; /* assignments to the source of an image: "input.series=2" */
    int n_sets;
    struct ts_chain *chain; /* the caller keeps it */
    bool reads_input;       /* the chain is not run: its first input is shown */
    bool keeps_output;      /* the chain's result goes to its own file, not to a temporary one */
    const char *image;      /* of a result; NULL: the last one */
    struct ts_options options;
    /* Is called with the plan before it runs, and with NULL when it has ended, for handlers of
     * signals. NULL: no one is. */
    void (*running)(struct ts_plan *plan);
};

/* This holds the image that is shown in host memory, whole. A file is opened as the source of a
 * chain is, with the same checks. A chain is run by a thread into its output file or a temporary
 * one: while it runs, its last image fills up slice by slice, and when it is done the file is shown
 * as any result is. */
struct shown {
    const struct shown_request *request;
    struct ts_diag *diag;
    struct arena *arena;
    const char *path;   /* of the file; NULL while a chain runs */
    const char *wanted; /* image of a result to begin with; NULL: `data`, or else the first */
    const char **images, **tables; /* names of images, and paths of tables, in a result */
    size_t n_images, n_tables, chosen;
    struct ts_chain *file_chain; /* owns the description of `image` */
    struct ts_plan *plan;
    struct ts_image image; /* with data */
    /* These belong to a running chain. */
    pthread_t thread;
    struct run_options run_options;
    struct ts_diag *run_diag;
    int32_t node;              /* whose image is shown */
    enum ts_status run_status; /* once the thread has ended */
    atomic_bool ended;
    _Atomic int64_t ready; /* slices [0, ready) have values */
    char temporary[4096]; /* folder of the result, which is removed in the end; "": there is none */
};

/* Waits for a running chain; what it computed is then in its output, and no longer shown. */
enum ts_status ts_shown_finish(struct shown *shown);

struct viewer_request {
    struct shown_request shown;
    const char *title;  /* of the window: the path or the chain */
    const char *stage;  /* "box.radius": the slider; NULL: none */
    const char *keys;   /* pressed before the first picture; NULL: none */
    const char *frames; /* folder for pictures, without a window; NULL: a window */
    bool waits;    /* a chain runs to its end before the first picture, as it does for frames */
    int64_t slice; /* the one to begin with, counted from 0; negative: the middle */
    int32_t width, height; /* of the picture */
    bool (*stopped)(void); /* a signal has come: the window is to close within a second. NULL: none
                              is heard of */
};
#define VIEWER_REQUEST_DEFAULT                                                                     \
    {                                                                                              \
        .shown = {.options = TS_OPTIONS_DEFAULT}, .slice = -1, .width = 1280, .height = 800        \
    }

struct viewer {
    const struct viewer_request *request;
    struct shown_request input; /* the request's, but for what the slider changes */
    struct ts_diag *diag;
    struct shown shown;
    struct renderer renderer;
    struct scene scene;
    struct slider slider;
    struct display_histogram histogram;
    struct hdf5_slice table;
    struct canvas canvas;
    struct cuda_devices *devices;        /* that were found; NULL: none was asked for */
    const struct device_numbers *device; /* draws; NULL: the CPU */
    int64_t uploaded;                    /* slices of a running chain that the renderer has */
    int64_t made_z;                      /* slice that the slider's image shows; -1: none */
    size_t next_table;                   /* the one that `t` shows next */
    char title[128];
};

/* Opens what is shown and finds the device that draws. A chain is then running, unless the request
 * is for frames or has a slider, which wait for it. */
enum ts_status ts_viewer_open(struct viewer *viewer, const struct viewer_request *request,
                              struct ts_diag *diag);
void ts_viewer_close(struct viewer *viewer);
/* Takes what a running chain has computed since. *changed: the picture is another one. */
enum ts_status ts_viewer_follow(struct viewer *viewer, bool *changed);
/* Fulfills WISH_IMAGE, WISH_TABLE and WISH_SLIDER; a refusal becomes the scene's note. */
enum ts_status ts_viewer_grant(struct viewer *viewer, enum scene_wish wish);
/* Describes the picture of the present scene, in width x height pixels; its overlay is the viewer's
 * until the next. */
enum ts_status ts_viewer_picture(struct viewer *viewer, int32_t width, int32_t height,
                                 struct view_picture *picture);

/* Draws a picture to host memory: ts_renderer_draw, or a way through OpenGL that ends there. */
typedef enum ts_status viewer_draw(void *user, const struct view_picture *picture, void *pixels);
/* ts_viewer_frames() counts and times its frames. */
struct viewer_frames {
    int64_t n;
    double
        seconds; /* median of a frame, from the slice or the slider to the picture in host memory */
};
/* Writes FOLDER/frame_0000.png and so on: a frame for each step of the slider, or for each slice of
 * the first axis, or the one slice that was asked for. The folder is there. draw NULL: the renderer
 * alone draws. */
enum ts_status ts_viewer_frames(struct viewer *viewer, viewer_draw *draw, void *user,
                                struct viewer_frames *frames);
/* Writes the present picture to a file. */
enum ts_status ts_viewer_screenshot(struct viewer *viewer, const char *path);

#endif

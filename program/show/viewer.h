/* SPDX-License-Identifier: Apache-2.0
 *
 * A viewer owns what is shown, the scene and the renderer, and makes pictures of them. A window and
 * the writer of frames both use it: they pass keys to the scene and wishes to the viewer, and ask
 * for the next picture.
 */
#ifndef PROGRAM_SHOW_VIEWER_H
#define PROGRAM_SHOW_VIEWER_H

#include <pthread.h>
#include <stdatomic.h>

#include "io/hdf5/hdf5_slice.h"
#include "pipeline/plan/plan.h"
#include "program/show/scene.h"

/* What the command line says to open. */
struct shown_request {
    const char *path;        /* of an image; NULL: `chain` is shown */
    const char *const *sets; /* assignments to the source of an image, such as "input.series=2" */
    int n_sets;
    struct ts_chain *chain; /* the caller keeps it */
    bool reads_input;       /* the chain is not run; its first input is shown */
    /* the chain's result is written to its own file, not to a temporary one */
    bool keeps_output;
    const char *image; /* of a result; NULL: the last one */
    struct ts_options options;
    /* Called with the plan before it runs, and with NULL when it has ended, for handlers of
       signals. May be NULL. */
    void (*running)(struct ts_plan *plan);
};

/* The image that is shown, which is whole in host memory. A file is opened like the source of a
   chain, with the same checks. A chain runs in a thread and writes to its output file or a
   temporary one: while it runs, its last image fills up slice by slice, and when it has ended the
   file is shown like any result. */
struct shown {
    const struct shown_request *request;
    struct ts_diag *diag;
    struct arena *arena;
    const char *path;   /* of the file; NULL while a chain runs */
    const char *wanted; /* image of a result that is shown first; NULL: `data`, or else the first */
    const char **images, **tables; /* names of images, and paths of tables, in a result */
    size_t n_images, n_tables, chosen;
    struct ts_chain *file_chain; /* owns the description of `image` */
    struct ts_plan *plan;
    struct ts_image image; /* with data */
    /* The following belong to a running chain. */
    pthread_t thread;
    struct run_options run_options;
    struct ts_diag *run_diag;
    int32_t node;              /* whose image is shown */
    enum ts_status run_status; /* once the thread has ended */
    atomic_bool ended;
    _Atomic int64_t ready; /* slices [0, ready) have values */
    char temporary[4096];  /* folder of the result, which is removed at the end; "": none */
};

/* Waits for a running chain. What it computed is then in its output, and no longer shown. */
enum ts_status ts_shown_finish(struct shown *shown);

struct viewer_request {
    struct shown_request shown;
    const char *title; /* of the window: the path or the chain */
    const char *stage; /* the parameter of the slider, such as "box.radius"; NULL: none */
    struct overlay_style over;
    const char *keys;   /* keys that are pressed before the first picture; NULL: none */
    const char *frames; /* folder for pictures, without a window; NULL: a window */
    bool waits;    /* a chain runs to its end before the first picture, as it does for frames */
    int64_t slice; /* the slice that is shown first, from 0; negative: the middle */
    int32_t width, height; /* of the picture */
    /* returns true once a signal has come; the window must then close within a second. NULL:
       signals are not checked */
    bool (*stopped)(void);
};
#define VIEWER_REQUEST_DEFAULT                                                                     \
    {                                                                                              \
        .shown = {.options = TS_OPTIONS_DEFAULT}, .over = OVERLAY_STYLE_DEFAULT, .slice = -1,      \
        .width = 1280, .height = 800                                                               \
    }

struct viewer {
    const struct viewer_request *request;
    struct shown_request input; /* that of the request, except what the slider changes */
    struct ts_diag *diag;
    struct shown shown;
    struct renderer renderer;
    struct scene scene;
    struct slider slider;
    struct display_histogram histogram;
    struct hdf5_slice table;
    struct overlay over; /* lies over the image, whole */
    struct canvas canvas;
    struct cuda_devices *devices;        /* those that were found; NULL: none was wanted */
    const struct device_numbers *device; /* draws; NULL: the CPU */
    int64_t uploaded;                    /* slices of a running chain that the renderer has */
    int64_t made_z;                      /* slice that the slider's image shows; -1: none */
    size_t next_table;                   /* the table that the key `t` shows next */
    char title[128];
};

/* Opens what is shown and finds the device that draws. A chain runs from then on; if the request is
   for frames or has a slider, this waits for its end. */
enum ts_status ts_viewer_open(struct viewer *viewer, const struct viewer_request *request,
                              struct ts_diag *diag);
void ts_viewer_close(struct viewer *viewer);
/* Takes what a running chain has computed since the last call. *changed: there is a new picture. */
enum ts_status ts_viewer_follow(struct viewer *viewer, bool *changed);
/* Does what WISH_IMAGE, WISH_TABLE and WISH_SLIDER ask for; a refusal becomes the scene's note. */
enum ts_status ts_viewer_grant(struct viewer *viewer, enum scene_wish wish);
/* Describes the picture of the present scene, of width x height pixels. The viewer owns its
   overlay, which is valid until the next call. */
enum ts_status ts_viewer_picture(struct viewer *viewer, int32_t width, int32_t height,
                                 struct view_picture *picture);

/* Draws a picture to host memory: by ts_renderer_draw, or through OpenGL. */
typedef enum ts_status viewer_draw(void *user, const struct view_picture *picture, void *pixels);
/* Number and times of the frames of ts_viewer_frames(). */
struct viewer_frames {
    int64_t n;
    double seconds; /* median time of a frame, from the slice or the slider to the picture in host
                       memory */
};
/* Writes FOLDER/frame_0000.png and so on: a frame for each step of the slider, or for each slice of
   the first axis, or the one slice that was asked for. The folder must exist. If `draw` is NULL,
   only the renderer draws. */
enum ts_status ts_viewer_frames(struct viewer *viewer, viewer_draw *draw, void *user,
                                struct viewer_frames *frames);
/* Writes the present picture to a file. */
enum ts_status ts_viewer_screenshot(struct viewer *viewer, const char *path);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The study display, on a screen in memory that needs no OpenGL: its rows, and that it finds
 * pictures which stayed behind, and pictures which took another way than the row says.
 * tests/results/test_display.py tries it through OpenGL.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "program/show/window.h"
#include "tests/lab/study/study_text.h"
#include "tests/support/stage_check.h"

TestSuite(display);

/* The screen shows every picture; or the first one alone; or counts the ways of pictures wrongly;
 * or cannot be opened. */
enum fault { RIGHT, STAYS, MISCOUNTS, CLOSED };

struct offscreen {
    struct viewer *viewer;
    uint32_t *pixels;
    size_t bytes;
    int64_t n_by_host;
};

static enum fault fault;

static enum ts_status open_screen(struct viewer *viewer, struct offscreen **offscreen)
{
    if (fault == CLOSED)
        return ts_diag_error(viewer->diag, TS_RUN_FAILED, &(struct diag_site){.code = "no-egl"},
                             "it is closed");
    *offscreen = calloc(1, sizeof **offscreen);
    (*offscreen)->viewer = viewer;
    return TS_OK;
}

static enum ts_status show(struct offscreen *offscreen, const struct view_picture *picture,
                           bool by_host)
{
    const size_t bytes = (size_t)picture->width * (size_t)picture->height * sizeof(uint32_t);
    offscreen->n_by_host += fault != MISCOUNTS && (by_host || !offscreen->viewer->renderer.cuda);
    if (fault == STAYS && bytes == offscreen->bytes)
        return TS_OK;
    free(offscreen->pixels);
    offscreen->pixels = malloc(bytes);
    offscreen->bytes = bytes;
    return ts_renderer_draw(&offscreen->viewer->renderer, picture, offscreen->pixels);
}

static void read_back(struct offscreen *offscreen, void *pixels)
{
    memcpy(pixels, offscreen->pixels, offscreen->bytes);
}

static int64_t n_by_host(const struct offscreen *offscreen)
{
    return offscreen->n_by_host;
}

static void close_screen(struct offscreen *offscreen)
{
    free(offscreen->pixels);
    free(offscreen);
}

static const struct view_screen screen = {open_screen, show, read_back, n_by_host, close_screen};

/* Carries the study out on the smallest slices and returns what it printed; *code receives that of
 * the error, or "". */
static char *study_text(const struct view_screen *used, enum fault wanted, bool json, char code[32])
{
    const struct study_request request = {.most = 1, .threads = 2, .json = json};
    struct ts_diag *diag = ts_diag_create();
    enum ts_status status;
    fault = wanted;
    ts_study_use_screen(used);
    char *text = ts_test_study_tried(&ts_display_study, request, &status, diag);
    ts_study_use_screen(NULL);
    cr_assert_eq(status, ts_diag_count(diag) ? TS_RUN_FAILED : TS_OK);
    snprintf(code, 32, "%s", ts_diag_count(diag) ? ts_diag_get(diag, 0)->code : "");
    ts_diag_destroy(diag);
    return text;
}

TEST_ON_BOTH(display, every_way_from_file_and_from_memory)
{
    static const char *const subjects[] = {"file", "memory"},
                             *const on_cpu[] = {"drawn by the CPU", NULL},
                             *const on_cuda[] = {"copied to the host", "kept on the device", NULL};
    char code[32], row[128], *text = study_text(&screen, RIGHT, true, code);
    cr_expect_str_eq(code, "");
    for (int i = 0; i < 2; i++)
        for (const char *const *method = ts_test_device ? on_cuda : on_cpu; *method; method++) {
            snprintf(row, sizeof row, "\"subject\": \"%s\", \"method\": \"%s\", \"side\": 256",
                     subjects[i], *method);
            const char *found = strstr(text, row),
                       *error = found ? strstr(found, "\"error\": ") : NULL;
            cr_expect(error && strtod(error + strlen("\"error\": "), NULL) == 0, "%s: %s", row,
                      text);
        }
    free(text);
}

TEST_ON_BOTH(display, a_picture_that_stays_is_a_wrong_result)
{
    char code[32];
    free(study_text(&screen, STAYS, true, code));
    cr_expect_str_eq(code, "study-result");
}

/* A row of copies to the host without such copies is an error, even where the pictures are
 * right. */
TEST_ON_BOTH(display, another_way_is_a_wrong_result)
{
    char code[32];
    free(study_text(&screen, MISCOUNTS, true, code));
    cr_expect_str_eq(code, "study-result");
}

TEST_ON_BOTH(display, the_heading_says_why_rows_are_missing)
{
    char code[32], *text = study_text(&screen, CLOSED, false, code);
    cr_expect_str_eq(code, "");
    cr_expect(strstr(text, ts_test_device ? "no rows of CUDA: it is closed"
                                          : "no rows of the CPU: it is closed"),
              "%s", text);
    cr_expect(strstr(text, "now: nothing was measured"), "%s", text);
    free(text);
    text = study_text(NULL, RIGHT, false, code);
    cr_expect_str_eq(code, "");
    cr_expect(strstr(text, "no rows: this program has no OpenGL"), "%s", text);
    free(text);
    text = study_text(&screen, RIGHT, false, code);
    cr_expect_null(strstr(text, "no rows"), "%s", text);
    free(text);
}

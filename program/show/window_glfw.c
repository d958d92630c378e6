/* SPDX-License-Identifier: Apache-2.0
 *
 * The window: GLFW passes keys and the mouse to the scene, and a picture is drawn whenever one of
 * them, or a running chain, has changed it. Keys come as characters, so that they are where the
 * user's keyboard has them.
 */
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <string.h>

#include "program/show/window_egl.h"
#include "program/show/window_gl.h"

/* How often the window checks a running chain while nothing moves. */
static const double waiting_seconds = 0.05;

struct window {
    GLFWwindow *handle;
    struct viewer *viewer;
    struct gl_screen screen;
    int button; /* held down; -1: none */
    bool dirty;
    int screenshots;
    enum ts_status status;
};

static struct window *window_of(GLFWwindow *handle)
{
    return glfwGetWindowUserPointer(handle);
}

static void take_screenshot(struct window *window)
{
    struct scene *scene = &window->viewer->scene;
    char path[64];
    snprintf(path, sizeof path, "view_%03d.png", window->screenshots++);
    window->status = ts_viewer_screenshot(window->viewer, path);
    if (window->status == TS_OK)
        snprintf(scene->note, sizeof scene->note, "wrote %s", path);
}

static void grant(struct window *window, enum scene_wish wish)
{
    window->dirty = true;
    if (wish == WISH_QUIT)
        glfwSetWindowShouldClose(window->handle, GLFW_TRUE);
    else if (wish == WISH_SCREENSHOT)
        take_screenshot(window);
    else if (wish != WISH_NOTHING)
        window->status = ts_viewer_grant(window->viewer, wish);
}

static void on_character(GLFWwindow *handle, unsigned character)
{
    if (character < 127)
        grant(window_of(handle), ts_scene_key(&window_of(handle)->viewer->scene, (int)character));
}

/* Handles keys that are no characters. */
static void on_key(GLFWwindow *handle, int key, int code, int action, int modifiers)
{
    static const struct {
        int key, character;
    } others[] = {{GLFW_KEY_UP, '.'},    {GLFW_KEY_DOWN, ','},    {GLFW_KEY_RIGHT, ']'},
                  {GLFW_KEY_LEFT, '['},  {GLFW_KEY_PAGE_UP, '>'}, {GLFW_KEY_PAGE_DOWN, '<'},
                  {GLFW_KEY_ESCAPE, 'q'}};
    (void)code;
    (void)modifiers;
    for (size_t i = 0; action != GLFW_RELEASE && i < sizeof others / sizeof *others; i++)
        if (key == others[i].key)
            on_character(handle, (unsigned)others[i].character);
}

/* Converts the pointer from the window's coordinates to its pixels; the two differ on some
   screens. */
static void pixel_of(GLFWwindow *handle, double x, double y, int32_t *px, int32_t *py)
{
    int width, height, wide, high;
    glfwGetWindowSize(handle, &width, &height);
    glfwGetFramebufferSize(handle, &wide, &high);
    *px = (int32_t)(x * wide / (width > 0 ? width : 1));
    *py = (int32_t)(y * high / (height > 0 ? height : 1));
}

static void on_pointer(GLFWwindow *handle, double x, double y)
{
    struct window *window = window_of(handle);
    int32_t px, py;
    pixel_of(handle, x, y, &px, &py);
    grant(window, ts_scene_drag(&window->viewer->scene, px, py, window->button));
}

static void on_button(GLFWwindow *handle, int button, int action, int modifiers)
{
    struct window *window = window_of(handle);
    (void)modifiers;
    if (action == GLFW_RELEASE)
        window->button = -1;
    else if (button == GLFW_MOUSE_BUTTON_LEFT)
        window->button = BUTTON_LEFT;
    else if (button == GLFW_MOUSE_BUTTON_MIDDLE)
        window->button = BUTTON_MIDDLE;
    else
        window->button = BUTTON_RIGHT;
    if (action != GLFW_RELEASE)
        grant(window, ts_scene_press(&window->viewer->scene, window->button));
}

static void on_wheel(GLFWwindow *handle, double across, double steps)
{
    struct window *window = window_of(handle);
    const bool control = glfwGetKey(handle, GLFW_KEY_LEFT_CONTROL) == GLFW_PRESS ||
                         glfwGetKey(handle, GLFW_KEY_RIGHT_CONTROL) == GLFW_PRESS;
    (void)across;
    ts_scene_wheel(&window->viewer->scene, steps, control);
    window->dirty = true;
}

static void on_damage(GLFWwindow *handle)
{
    window_of(handle)->dirty = true;
}

static enum ts_status draw(struct window *window)
{
    struct view_picture picture;
    int width, height;
    glfwGetFramebufferSize(window->handle, &width, &height);
    if (width < SCENE_LEAST || height < SCENE_LEAST)
        return TS_OK; /* too small to show anything, or iconified */
    enum ts_status status = ts_viewer_picture(window->viewer, width, height, &picture);
    if (status == TS_OK)
        status = ts_gl_draw(&window->screen, window->viewer, &picture, 0);
    if (status == TS_OK)
        glfwSwapBuffers(window->handle);
    return status;
}

/* Goes to the next slice of a movie, and after the last to the first. */
static void play(struct scene *scene)
{
    const int axis = scene->slider ? 0 : scene->plane;
    scene->at[axis] = (scene->at[axis] + 1) % scene->image->axes[axis].n;
}

static enum ts_status open_window(struct window *window)
{
    struct viewer *viewer = window->viewer;
    const char *reason = NULL;
    if (!glfwInit()) {
        glfwGetError(&reason);
        ts_diag_error(viewer->diag, TS_RUN_FAILED, &(struct diag_site){.code = "no-display"},
                      "no window can be opened: %s", reason ? reason : "there is no display");
        return ts_diag_hint(viewer->diag, "--frames FOLDER writes pictures without a display");
    }
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    window->handle = glfwCreateWindow(viewer->request->width, viewer->request->height,
                                      viewer->scene.title, NULL, NULL);
    if (!window->handle) {
        glfwGetError(&reason);
        return ts_diag_error(viewer->diag, TS_RUN_FAILED, &(struct diag_site){.code = "no-opengl"},
                             "no window with OpenGL 3.0 can be opened: %s",
                             reason ? reason : "no reason is known");
    }
    glfwMakeContextCurrent(window->handle);
    glfwSwapInterval(1);
    glfwSetWindowUserPointer(window->handle, window);
    glfwSetCharCallback(window->handle, on_character);
    glfwSetKeyCallback(window->handle, on_key);
    glfwSetCursorPosCallback(window->handle, on_pointer);
    glfwSetMouseButtonCallback(window->handle, on_button);
    glfwSetScrollCallback(window->handle, on_wheel);
    glfwSetWindowRefreshCallback(window->handle, on_damage);
    return ts_gl_open(&window->screen, glfwGetProcAddress, viewer->diag);
}

static bool is_stopped(const struct viewer *viewer)
{
    return viewer->request->stopped && viewer->request->stopped();
}

static enum ts_status show(struct viewer *viewer)
{
    struct window window = {.viewer = viewer, .button = -1, .dirty = true};
    window.status = open_window(&window);
    while (window.status == TS_OK && !glfwWindowShouldClose(window.handle) && !is_stopped(viewer)) {
        bool changed = false;
        window.status = ts_viewer_follow(viewer, &changed);
        if (viewer->scene.playing)
            play(&viewer->scene);
        if (window.status == TS_OK && (window.dirty || changed || viewer->scene.playing)) {
            window.dirty = false;
            window.status = draw(&window);
        }
        if (viewer->scene.playing)
            glfwPollEvents();
        else
            glfwWaitEventsTimeout(waiting_seconds);
    }
    ts_gl_close(&window.screen);
    if (window.handle)
        glfwDestroyWindow(window.handle);
    glfwTerminate();
    return window.status;
}

static const struct view_window windows = {
    .show = show, .screen = &ts_egl_screen, .draw = ts_offscreen_draw};
const struct view_window *const ts_view_window = &windows;

/* SPDX-License-Identifier: Apache-2.0
 *
 * EGL is opened at run time, so that the program starts without it. Of the devices that EGL lists,
 * it uses the one that is the viewer's CUDA device, else Mesa's way without a surface, else EGL's
 * own choice. The picture ends in a texture instead of a window, from which it is read back.
 */
#include "program/show/window_egl.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "program/show/window_gl.h"

struct offscreen {
    struct viewer *viewer;
    void *library;
    PFNEGLGETPROCADDRESSPROC find;
    EGLDisplay display;
    EGLContext context;
    struct gl_screen screen;
    GLuint texture, frame; /* in place of a window */
    int32_t width, height; /* of the texture; 0: it has no pixels yet */
};

static enum ts_status window_egl_refuse(const struct offscreen *offscreen, const char *what)
{
    ts_diag_error(offscreen->viewer->diag, TS_RUN_FAILED, &(struct diag_site){.code = "no-egl"},
                  "OpenGL cannot be used without a display: %s", what);
    return ts_diag_hint(offscreen->viewer->diag,
                        "--screen none draws the same pictures without OpenGL");
}

#define FIND(variable, name)                                                                       \
    do {                                                                                           \
        void (*function)(void) = offscreen->find(name);                                            \
        memcpy(&(variable), &function, sizeof function);                                           \
    } while (0)

/* Returns the display of the EGL device that is this CUDA device; EGL_NO_DISPLAY if there is
   none. */
static EGLDisplay cuda_display(const struct offscreen *offscreen, int cuda_device)
{
    enum { DEVICES = 32, CUDA_DEVICE = 0x323A /* EGL_CUDA_DEVICE_NV */ };
    PFNEGLQUERYDEVICESEXTPROC query_devices;
    PFNEGLQUERYDEVICEATTRIBEXTPROC query_attribute;
    PFNEGLGETPLATFORMDISPLAYEXTPROC get_display;
    EGLDeviceEXT devices[DEVICES];
    EGLint n = 0;
    FIND(query_devices, "eglQueryDevicesEXT");
    FIND(query_attribute, "eglQueryDeviceAttribEXT");
    FIND(get_display, "eglGetPlatformDisplayEXT");
    if (!query_devices || !query_attribute || !get_display || !query_devices(DEVICES, devices, &n))
        return EGL_NO_DISPLAY;
    for (EGLint i = 0; i < n; i++) {
        EGLAttrib found = -1;
        if (query_attribute(devices[i], CUDA_DEVICE, &found) && found == cuda_device)
            return get_display(EGL_PLATFORM_DEVICE_EXT, devices[i], NULL);
    }
    return EGL_NO_DISPLAY;
}

static EGLDisplay find_display(const struct offscreen *offscreen)
{
    PFNEGLGETPLATFORMDISPLAYEXTPROC get_platform;
    PFNEGLGETDISPLAYPROC get_default;
    FIND(get_platform, "eglGetPlatformDisplayEXT");
    FIND(get_default, "eglGetDisplay");
    EGLDisplay display = EGL_NO_DISPLAY;
    if (offscreen->viewer->device)
        display = cuda_display(offscreen, offscreen->viewer->device->index);
    if (display == EGL_NO_DISPLAY && get_platform)
        display = get_platform(EGL_PLATFORM_SURFACELESS_MESA, (void *)EGL_DEFAULT_DISPLAY, NULL);
    return display == EGL_NO_DISPLAY && get_default ? get_default(EGL_DEFAULT_DISPLAY) : display;
}

/* Creates a context of OpenGL without a surface and makes it current. */
static enum ts_status make_context(struct offscreen *offscreen)
{
    static const EGLint wanted[] = {EGL_SURFACE_TYPE, 0, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT,
                                    EGL_NONE};
    static const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 0,
                                     EGL_NONE};
    PFNEGLINITIALIZEPROC initialize;
    PFNEGLBINDAPIPROC bind_api;
    PFNEGLCHOOSECONFIGPROC choose_config;
    PFNEGLCREATECONTEXTPROC create_context;
    PFNEGLMAKECURRENTPROC make_current;
    EGLConfig config = NULL;
    EGLint n = 0;
    FIND(initialize, "eglInitialize");
    FIND(bind_api, "eglBindAPI");
    FIND(choose_config, "eglChooseConfig");
    FIND(create_context, "eglCreateContext");
    FIND(make_current, "eglMakeCurrent");
    if (!initialize || !bind_api || !choose_config || !create_context || !make_current)
        return window_egl_refuse(offscreen, "libEGL lacks functions of EGL 1.5");
    offscreen->display = find_display(offscreen);
    if (offscreen->display == EGL_NO_DISPLAY || !initialize(offscreen->display, NULL, NULL))
        return window_egl_refuse(offscreen, "EGL has no device");
    if (!bind_api(EGL_OPENGL_API) || !choose_config(offscreen->display, wanted, &config, 1, &n) ||
        n < 1)
        return window_egl_refuse(offscreen, "EGL's device draws no OpenGL");
    offscreen->context = create_context(offscreen->display, config, EGL_NO_CONTEXT, version);
    if (offscreen->context == EGL_NO_CONTEXT ||
        !make_current(offscreen->display, EGL_NO_SURFACE, EGL_NO_SURFACE, offscreen->context))
        return window_egl_refuse(offscreen, "EGL's device gives no context of OpenGL 3.0");
    return TS_OK;
}

static enum ts_status open_screen(struct viewer *viewer, struct offscreen **offscreen)
{
    struct offscreen *made = calloc(1, sizeof *made);
    *offscreen = made;
    if (!made)
        return ts_diag_no_memory(viewer->diag, sizeof *made);
    made->viewer = viewer;
    made->library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    void *find = made->library ? dlsym(made->library, "eglGetProcAddress") : NULL;
    if (!find)
        return window_egl_refuse(made, "there is no libEGL.so.1; Debian has it in libegl1");
    memcpy(&made->find, &find, sizeof find);
    enum ts_status status = make_context(made);
    if (status == TS_OK)
        status = ts_gl_open(&made->screen, made->find, viewer->diag);
    if (status == TS_OK) {
        made->screen.gl.GenTextures(1, &made->texture);
        made->screen.gl.GenFramebuffers(1, &made->frame);
    }
    return status;
}

/* Reverses the order of a picture's rows, since OpenGL reads the lowest first. */
static void turn_over(unsigned char *pixels, size_t bytes, int32_t rows)
{
    for (int32_t y = 0; y < rows / 2; y++) {
        unsigned char *upper = pixels + (size_t)y * bytes,
                      *lower = pixels + (size_t)(rows - 1 - y) * bytes;
        for (size_t i = 0; i < bytes; i++) {
            const unsigned char byte = upper[i];
            upper[i] = lower[i];
            lower[i] = byte;
        }
    }
}

/* Gives the framebuffer the picture's size. */
static void resize(struct offscreen *offscreen, int32_t width, int32_t height)
{
    const struct gl_functions *gl = &offscreen->screen.gl;
    if (offscreen->width == width && offscreen->height == height)
        return;
    gl->BindTexture(GL_TEXTURE_2D, offscreen->texture);
    gl->TexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    gl->BindFramebuffer(GL_FRAMEBUFFER, offscreen->frame);
    gl->FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D,
                             offscreen->texture, 0);
    offscreen->width = width;
    offscreen->height = height;
}

static enum ts_status show(struct offscreen *offscreen, const struct view_picture *picture,
                           bool by_host)
{
    resize(offscreen, picture->width, picture->height);
    offscreen->screen.by_host = by_host;
    const enum ts_status status =
        ts_gl_draw(&offscreen->screen, offscreen->viewer, picture, offscreen->frame);
    if (status == TS_OK)
        offscreen->screen.gl.Finish();
    return status;
}

static void read_back(struct offscreen *offscreen, void *pixels)
{
    const struct gl_functions *gl = &offscreen->screen.gl;
    gl->BindFramebuffer(GL_READ_FRAMEBUFFER, offscreen->frame);
    gl->ReadPixels(0, 0, offscreen->width, offscreen->height, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    turn_over(pixels, (size_t)offscreen->width * 4, offscreen->height);
}

static int64_t n_by_host(const struct offscreen *offscreen)
{
    return offscreen->screen.n_by_host;
}

enum ts_status ts_offscreen_draw(void *offscreen, const struct view_picture *picture, void *pixels)
{
    const enum ts_status status = show(offscreen, picture, false);
    if (status == TS_OK)
        read_back(offscreen, pixels);
    return status;
}

static void close_screen(struct offscreen *offscreen)
{
    PFNEGLTERMINATEPROC terminate = NULL;
    PFNEGLMAKECURRENTPROC make_current = NULL;
    ts_gl_close(&offscreen->screen);
    if (offscreen->find && offscreen->display != EGL_NO_DISPLAY) {
        FIND(make_current, "eglMakeCurrent");
        FIND(terminate, "eglTerminate");
        make_current(offscreen->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
        terminate(offscreen->display);
    }
    free(offscreen);
}

const struct view_screen ts_egl_screen = {.open = open_screen,
                                          .show = show,
                                          .read = read_back,
                                          .n_by_host = n_by_host,
                                          .close = close_screen};

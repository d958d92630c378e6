/* SPDX-License-Identifier: Apache-2.0
 *
 * The first row of a picture is its top, but the first of OpenGL is the bottom: the blit to the
 * framebuffer reverses the rows. If CUDA refuses the buffer, because another device or the CPU
 * draws for OpenGL, pictures pass through host memory; the scene then says so.
 */
#include "program/show/window_gl.h"

#include <stdlib.h>
#include <string.h>

enum ts_status ts_gl_open(struct gl_screen *screen, void (*(*find)(const char *))(void),
                          struct ts_diag *diag)
{
    void (*function)(void);
    *screen = (struct gl_screen){0};
#define GL_FIND(type, name)                                                                        \
    function = find("gl" #name);                                                                   \
    if (!function)                                                                                 \
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "no-opengl"},        \
                             "this OpenGL has no gl" #name ", which OpenGL 3.0 has");              \
    memcpy(&screen->gl.name, &function, sizeof function);
    GL_FUNCTIONS(GL_FIND)
#undef GL_FIND
    screen->gl.GenTextures(1, &screen->texture);
    screen->gl.GenFramebuffers(1, &screen->frame);
    screen->gl.GenBuffers(1, &screen->buffer);
    return TS_OK;
}

void ts_gl_close(struct gl_screen *screen)
{
    if (screen->cuda)
        (void)ts_cuda_view_buffer(screen->cuda, 0);
    if (screen->gl.DeleteTextures) {
        screen->gl.DeleteTextures(1, &screen->texture);
        screen->gl.DeleteFramebuffers(1, &screen->frame);
        screen->gl.DeleteBuffers(1, &screen->buffer);
    }
    free(screen->pixels);
    *screen = (struct gl_screen){0};
}

/* Makes texture, buffer and host memory for pictures of a new size. */
static enum ts_status resize(struct gl_screen *screen, struct viewer *viewer, int32_t width,
                             int32_t height)
{
    const struct gl_functions *gl = &screen->gl;
    const size_t bytes = (size_t)width * (size_t)height * 4;
    if (screen->width == width && screen->height == height)
        return TS_OK;
    if (screen->cuda)
        (void)ts_cuda_view_buffer(screen->cuda, 0);
    screen->cuda = NULL;
    free(screen->pixels);
    screen->pixels = malloc(bytes);
    if (!screen->pixels)
        return ts_diag_no_memory(viewer->diag, bytes);
    gl->BindBuffer(GL_PIXEL_UNPACK_BUFFER, screen->buffer);
    gl->BufferData(GL_PIXEL_UNPACK_BUFFER, (GLsizeiptr)bytes, NULL, GL_STREAM_DRAW);
    gl->BindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    gl->BindTexture(GL_TEXTURE_2D, screen->texture);
    gl->TexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    gl->BindFramebuffer(GL_READ_FRAMEBUFFER, screen->frame);
    gl->FramebufferTexture2D(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D,
                             screen->texture, 0);
    screen->width = width;
    screen->height = height;
    return TS_OK;
}

/* Lets the renderer's device write the buffer, if it can. */
static void share_buffer(struct gl_screen *screen, struct viewer *viewer)
{
    struct renderer *renderer = &viewer->renderer;
    if (!renderer->cuda || screen->refused || screen->cuda == renderer->cuda)
        return;
    const size_t n = ts_diag_count(viewer->diag);
    if (ts_cuda_view_buffer(renderer->cuda, screen->buffer) == TS_OK) {
        screen->cuda = renderer->cuda;
        return;
    }
    ts_diag_forget(viewer->diag, n, "view");
    screen->refused = true;
    snprintf(viewer->scene.note, sizeof viewer->scene.note,
             "This OpenGL is not drawn by the CUDA device: pictures pass through the host.");
}

enum ts_status ts_gl_draw(struct gl_screen *screen, struct viewer *viewer,
                          const struct view_picture *picture, GLuint target)
{
    const struct gl_functions *gl = &screen->gl;
    const int32_t width = picture->width, height = picture->height;
    enum ts_status status = resize(screen, viewer, width, height);
    if (status != TS_OK)
        return status;
    share_buffer(screen, viewer);
    const bool shared =
        !screen->by_host && viewer->renderer.cuda && screen->cuda == viewer->renderer.cuda;
    screen->n_by_host += !shared;
    status = shared
                 ? ts_cuda_view_draw_buffer(viewer->renderer.cuda, picture, viewer->renderer.images)
                 : ts_renderer_draw(&viewer->renderer, picture, screen->pixels);
    if (status != TS_OK)
        return status;
    gl->BindTexture(GL_TEXTURE_2D, screen->texture);
    gl->BindBuffer(GL_PIXEL_UNPACK_BUFFER, shared ? screen->buffer : 0);
    gl->TexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE,
                      shared ? NULL : screen->pixels);
    gl->BindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    gl->BindFramebuffer(GL_READ_FRAMEBUFFER, screen->frame);
    gl->BindFramebuffer(GL_DRAW_FRAMEBUFFER, target);
    gl->BlitFramebuffer(0, 0, width, height, 0, height, width, 0, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    const GLenum error = gl->GetError();
    return error == GL_NO_ERROR
               ? TS_OK
               : ts_diag_error(viewer->diag, TS_RUN_FAILED,
                               &(struct diag_site){.code = "opengl-failed"},
                               "OpenGL could not draw the picture (error 0x%04X)", error);
}

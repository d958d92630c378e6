/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes pictures through OpenGL: into a pixel buffer object, from there to a texture, and from the
 * texture to a framebuffer, without a shader. A renderer on a CUDA device writes the pixel buffer
 * itself, so that no pixel passes through the host; the CPU's pictures are copied to the texture.
 */
#ifndef PROGRAM_SHOW_WINDOW_GL_H
#define PROGRAM_SHOW_WINDOW_GL_H

#include <GL/gl.h>
#include <GL/glext.h>

#include "program/show/viewer.h"

/* X(type, name): the functions of OpenGL that are used; all are looked up at run time. */
#define GL_FUNCTIONS(X)                                                                            \
    X(PFNGLGENBUFFERSPROC, GenBuffers)                                                             \
    X(PFNGLDELETEBUFFERSPROC, DeleteBuffers)                                                       \
    X(PFNGLBINDBUFFERPROC, BindBuffer)                                                             \
    X(PFNGLBUFFERDATAPROC, BufferData)                                                             \
    X(PFNGLGENFRAMEBUFFERSPROC, GenFramebuffers)                                                   \
    X(PFNGLDELETEFRAMEBUFFERSPROC, DeleteFramebuffers)                                             \
    X(PFNGLBINDFRAMEBUFFERPROC, BindFramebuffer)                                                   \
    X(PFNGLFRAMEBUFFERTEXTURE2DPROC, FramebufferTexture2D)                                         \
    X(PFNGLBLITFRAMEBUFFERPROC, BlitFramebuffer)                                                   \
    X(gl_gen_textures, GenTextures)                                                                \
    X(gl_delete_textures, DeleteTextures)                                                          \
    X(gl_bind_texture, BindTexture)                                                                \
    X(gl_texture_image, TexImage2D)                                                                \
    X(gl_texture_part, TexSubImage2D)                                                              \
    X(gl_read_pixels, ReadPixels)                                                                  \
    X(gl_get_error, GetError)                                                                      \
    X(gl_get_string, GetString)                                                                    \
    X(gl_finish, Finish)

typedef void (*gl_gen_textures)(GLsizei, GLuint *);
typedef void (*gl_delete_textures)(GLsizei, const GLuint *);
typedef void (*gl_bind_texture)(GLenum, GLuint);
typedef void (*gl_texture_image)(GLenum, GLint, GLint, GLsizei, GLsizei, GLint, GLenum, GLenum,
                                 const void *);
typedef void (*gl_texture_part)(GLenum, GLint, GLint, GLint, GLsizei, GLsizei, GLenum, GLenum,
                                const void *);
typedef void (*gl_read_pixels)(GLint, GLint, GLsizei, GLsizei, GLenum, GLenum, void *);
typedef GLenum (*gl_get_error)(void);
typedef const GLubyte *(*gl_get_string)(GLenum);
typedef void (*gl_finish)(void);

#define GL_MEMBER(type, name) type name;
struct gl_functions {
    GL_FUNCTIONS(GL_MEMBER)
};
#undef GL_MEMBER

struct gl_screen {
    struct gl_functions gl;
    GLuint texture, frame, buffer;
    int32_t width, height;  /* 0: nothing was drawn yet */
    struct cuda_view *cuda; /* the view that has registered the buffer; NULL: none */
    bool refused;           /* CUDA cannot write the buffers of this OpenGL */
    bool by_host;           /* pictures go through host memory, even if CUDA could draw */
    int64_t n_by_host;      /* number of pictures so far that did */
    uint8_t *pixels;        /* a picture in host memory, if pictures go through it */
};

/* Finds the functions of the current context. Returns TS_RUN_FAILED if one is missing. */
enum ts_status ts_gl_open(struct gl_screen *screen, void (*(*find)(const char *))(void),
                          struct ts_diag *diag);
/* Draws a picture into the framebuffer `target`; 0 is the window. */
enum ts_status ts_gl_draw(struct gl_screen *screen, struct viewer *viewer,
                          const struct view_picture *picture, GLuint target);
/* Closes it; must come before the renderer that drew its pictures is destroyed. */
void ts_gl_close(struct gl_screen *screen);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * A portable build (TOMOSTAGE_PORTABLE) links these functions in place of the real ones, which need
 * further libraries.
 *
 * libtiff has a table of compressions. A program reads and writes TIFF without compression and with
 * LZW, PackBits and Deflate, and refuses the others by name, so these need no library: libjbig is
 * under the GPL. A file opens with them, as it does with the real ones, and is then refused.
 */
#include <stdio.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define WITHOUT(name)                                                                              \
    HIDDEN int TIFFInit##name(void *tiff, int scheme);                                             \
    int TIFFInit##name(void *tiff, int scheme)                                                     \
    {                                                                                              \
        (void)tiff;                                                                                \
        (void)scheme;                                                                              \
        return 1;                                                                                  \
    }
WITHOUT(JBIG)
WITHOUT(JPEG)
WITHOUT(LERC)
WITHOUT(LZMA)
WITHOUT(OJPEG)
WITHOUT(WebP)
WITHOUT(ZSTD)

HIDDEN int TIFFJPEGIsFullStripRequired(void *tiff);
int TIFFJPEGIsFullStripRequired(void *tiff)
{
    (void)tiff;
    return 0;
}

/* The static libraries of a distribution are compiled for programs. Their code takes stderr and
 * stdout from where a program has them, which a shared library cannot do; portable.cmake gives
 * these names to both. */
HIDDEN FILE *ts_portable_stderr, *ts_portable_stdout;

__attribute__((constructor)) static void take_streams(void)
{
    ts_portable_stderr = stderr;
    ts_portable_stdout = stdout;
}

/* glibc 2.35 has a second hypot(), which does without errno. Its first one has the same values, and
 * is in older versions too; nothing else here needs more than glibc 2.34. */
#ifdef __x86_64__
double first_hypot(double x, double y);
__asm__(".symver first_hypot, hypot@GLIBC_2.2.5");
HIDDEN double __wrap_hypot(double x, double y);
double __wrap_hypot(double x, double y)
{
    return first_hypot(x, y);
}
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * This checks a TIFF page strictly before anything of it is decoded. The worker calls it (io/scan/tiff_library.h).
 */
#ifndef IO_SCAN_TIFF_CHECK_H
#define IO_SCAN_TIFF_CHECK_H

#include "io/scan/tiff_library.h"

/* Checks the page whose directory was read last, whose number stands in library->page, and describes it there. False:
 * the reply says why not. */
bool ts_tiff_check(struct tiff_library *library);
/* Refuses the page whose number stands in library->page, or the file for 0, in the reply. Returns false. */
bool ts_tiff_library_refuse(struct tiff_library *library, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

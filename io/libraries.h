/* SPDX-License-Identifier: Apache-2.0
 *
 * The libraries this program runs with, as they name their versions at run time: for provenance and doctor.
 */
#ifndef IO_LIBRARIES_H
#define IO_LIBRARIES_H

#include <stddef.h>

struct library {
    char name[16], version[48];
};
enum { LIBRARIES = 5 };
void ts_libraries(struct library libraries[LIBRARIES]);

#endif

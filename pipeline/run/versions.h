/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the libraries with which the program was built and runs.
 */
#ifndef PIPELINE_RUN_VERSIONS_H
#define PIPELINE_RUN_VERSIONS_H

enum { VERSIONS_MAX = 16 };

struct version {
    const char *name;
    char text[96];
};

/* Writes the name of a version in a form that NeXus allows for a dataset: "isa_l" for ISA-L. */
void ts_version_field(const struct version *version, char name[64]);
/* Writes the versions of the compiler and of each loaded library. Returns how many there are. */
int ts_versions(struct version versions[VERSIONS_MAX]);

#endif

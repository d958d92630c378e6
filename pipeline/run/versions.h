/* SPDX-License-Identifier: Apache-2.0
 *
 * What this program was built with and runs with.
 */
#ifndef PIPELINE_RUN_VERSIONS_H
#define PIPELINE_RUN_VERSIONS_H

enum { VERSIONS_MAX = 16 };

struct version {
    const char *name;
    char text[96];
};

/* The compiler, and each library as it is loaded now; returns how many. */
int ts_versions(struct version versions[VERSIONS_MAX]);

#endif

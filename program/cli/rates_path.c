/* SPDX-License-Identifier: Apache-2.0
 *
 * Only commands read the environment. Plans get the path as an option (struct ts_options), so that
 * a caller of the library decides what is read.
 */
#include "program/cli/rates_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool ts_rates_path(char path[RATES_PATH_BYTES])
{
    const char *named = getenv("TOMOSTAGE_RATES"), *cache = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    int length = 0;
    if (named)
        length = snprintf(path, RATES_PATH_BYTES, "%s", named);
    else if (cache && *cache == '/') /* the specification ignores relative paths */
        length = snprintf(path, RATES_PATH_BYTES, "%s/tomostage/rates.json", cache);
    else if (home && *home)
        length = snprintf(path, RATES_PATH_BYTES, "%s/.cache/tomostage/rates.json", home);
    return length > 0 && length < RATES_PATH_BYTES;
}

enum ts_status ts_rates_path_make(const char *path, struct ts_diag *diag)
{
    char folder[RATES_PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
            return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "not-written"},
                                 "the folder %s cannot be made: %s", folder, strerror(errno));
        *slash = '/';
    }
    return TS_OK;
}

const char *ts_rates_path_found(void)
{
    static char path[RATES_PATH_BYTES];
    return ts_rates_path(path) && access(path, F_OK) == 0 ? path : NULL;
}

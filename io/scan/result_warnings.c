/* SPDX-License-Identifier: Apache-2.0
 *
 * A run that warned of nothing says so with one word, because a list in HDF5 is not empty.
 */
#include "io/scan/result_warnings.h"

#include <string.h>

#include "io/hdf5/hdf5_texts.h"

enum ts_status ts_result_warnings(const char *path, struct arena *arena,
                                  struct result_warnings *warnings, struct ts_diag *diag)
{
    const enum ts_status status =
        ts_hdf5_read_texts(NULL, path, WARNINGS_PATH, arena, &warnings->texts, &warnings->n, diag);
    warnings->kept = warnings->n > 0;
    if (warnings->n == 1 && !strcmp(warnings->texts[0], WARNINGS_NONE))
        warnings->n = 0;
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Only this file is compiled again when version, commit or flags change, since CMake passes them to
 * it alone.
 */
#include "core/version.h"

#include "include/tomostage.h"

const char *ts_version(void)
{
    return TS_VERSION;
}

const char *ts_build_text(void)
{
    return TS_BUILD;
}

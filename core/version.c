/* SPDX-License-Identifier: Apache-2.0 */
#include "core/version.h"

#include "core/tomostage.h"

const char *ts_version(void)
{
    return TS_VERSION;
}

const char *ts_build_text(void)
{
    return TS_BUILD;
}

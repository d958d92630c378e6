/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/tomostage.h"

const char *ts_version(void)
{
    return TS_VERSION;
}

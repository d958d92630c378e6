/* SPDX-License-Identifier: Apache-2.0
 *
 * In a build without the shared library, libexec/tomostage/sandbox is not of the tests' own library
 * and does not serve them. There every test begins with a server that was forked, as the program
 * does.
 */
#include "io/sandbox/sandbox.h"

__attribute__((constructor)) static void begin(void)
{
    (void)ts_sandbox_begin();
}

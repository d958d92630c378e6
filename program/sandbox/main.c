/* SPDX-License-Identifier: Apache-2.0
 *
 * libexec/tomostage/sandbox: the library starts it in a process of a caller, as the server of its
 * sandboxed children (io/sandbox/sandbox.h). A person has no use for it.
 */
#include "io/sandbox/sandbox.h"

int main(void)
{
    return ts_sandbox_serve();
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The leak checker of a sanitizer build overlooks these leaks of other people's code, named as
 * narrowly as they can be.
 */
#ifdef TS_SANITIZED
#include <errno.h>
#include <string.h>

#define VISIBLE __attribute__((visibility("default")))

/* libhdf5 1.10 leaks of its own if an object header does not decode or a close fails; clang's
 * libomp keeps what it knows of threads until the process has ended. */
const char *__lsan_default_suppressions(void) VISIBLE;
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5\nleak:libomp\n";
}

/* The runner of libcriterion loses 48 bytes of its own. The library's name as a suppression would
 * hide every leak of a test, since it calls them; but the runner runs no test, its workers do, and
 * they have this name and are checked. */
int __lsan_is_turned_off(void) VISIBLE;
int __lsan_is_turned_off(void)
{
    return strcmp(program_invocation_short_name, "boxfort-worker") != 0;
}
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder lies in /dev/shm, since libraries want a file and a disk would set the pace.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[FUZZ_PATH / 2];
static pid_t owner;

static void remove_folder(void)
{
    if (getpid() != owner)
        return;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        closedir(entries);
    rmdir(folder);
}

const char *fuzz_folder(void)
{
    if (folder[0])
        return folder;
    snprintf(folder, sizeof folder, "/dev/shm/tomostage-fuzz-XXXXXX");
    if (!mkdtemp(folder))
        abort();
    owner = getpid();
    atexit(remove_folder);
    return folder;
}

void fuzz_write(const char *name, const uint8_t *data, size_t bytes, char path[FUZZ_PATH])
{
    snprintf(path, FUZZ_PATH, "%s/%s", fuzz_folder(), name);
    const int file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = write(file, data + done, bytes - done);
        if (n <= 0)
            abort();
        done += (size_t)n;
    }
    if (file < 0 || close(file) != 0)
        abort();
}

FILE *fuzz_nowhere(void)
{
    static FILE *nowhere;
    if (!nowhere && !(nowhere = fopen("/dev/null", "w")))
        abort();
    return nowhere;
}

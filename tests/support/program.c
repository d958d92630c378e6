/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/program.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/support.h"

extern char **environ;

static void output_path(char *path, size_t size, const char *folder, const char *ending)
{
    snprintf(path, size, "%s.%s", folder, ending);
}

void ts_program_folder_remove(const char *folder)
{
    char path[512];
    ts_test_remove_folder(folder);
    output_path(path, sizeof path, folder, "out");
    unlink(path);
    output_path(path, sizeof path, folder, "err");
    unlink(path);
}

void ts_program_folder_list(const char *folder, char *names, size_t size)
{
    struct dirent **entries;
    const int n = scandir(folder, &entries, NULL, alphasort);
    size_t used = 0;
    cr_assert_geq(n, 0);
    names[0] = '\0';
    for (int i = 0; i < n; i++) {
        if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0 &&
            used < size)
            used += (size_t)snprintf(names + used, size - used, "%s ", entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

pid_t ts_program_start(const char *folder, const char *const *arguments, int terminal)
{
    char out[512], err[512], *argv[PROGRAM_ARGUMENTS + 2] = {(char *)"tomostage"};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    pid_t pid;
    setenv("TOMOSTAGE_RATES", "",
           0); /* what is kept of this machine must not choose devices in tests */
    /* A shell's background job ignores SIGINT, and so would everything started from it. */
    sigfillset(&signals);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    for (int i = 0; i < PROGRAM_ARGUMENTS && arguments[i]; i++)
        argv[i + 1] = (char *)arguments[i];
    output_path(out, sizeof out, folder, "out");
    output_path(err, sizeof err, folder, "err");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    if (terminal >= 0)
        posix_spawn_file_actions_adddup2(&actions, terminal, STDERR_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err, O_WRONLY | O_CREAT | O_TRUNC,
                                         0600);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    cr_assert_eq(posix_spawn(&pid, ts_test_program(), &actions, &attributes, argv, environ), 0,
                 "cannot start %s", ts_test_program());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return pid;
}

void ts_program_await_handler(pid_t pid, int number)
{
    char path[64], line[256];
    unsigned long long caught = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    while (!(caught >> (number - 1) & 1)) {
        FILE *file = fopen(path, "r");
        cr_assert(file, "the program has no process");
        while (fgets(line, sizeof line, file))
            sscanf(line, "SigCgt: %llx", &caught);
        fclose(file);
        usleep(1000);
    }
}

static void read_output(const char *folder, const char *ending, char *text, size_t size)
{
    char path[512];
    output_path(path, sizeof path, folder, ending);
    FILE *file = fopen(path, "rb");
    text[file ? fread(text, 1, size - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
}

void ts_program_wait(pid_t pid, const char *folder, struct program_outcome *outcome)
{
    struct timespec start, end;
    siginfo_t ended;
    clockid_t clock;
    int status;
    cr_assert_eq(clock_getcpuclockid(pid, &clock), 0);
    cr_assert_eq(clock_gettime(clock, &start), 0);
    cr_assert_eq(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
    cr_assert_eq(clock_gettime(clock, &end), 0);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    outcome->code = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
    outcome->seconds =
        (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    read_output(folder, "out", outcome->out, sizeof outcome->out);
    read_output(folder, "err", outcome->err, sizeof outcome->err);
}

void ts_program_run(const char *folder, const char *const *arguments,
                    struct program_outcome *outcome)
{
    ts_program_wait(ts_program_start(folder, arguments, -1), folder, outcome);
}

void ts_program_make_study(char *folder, size_t size)
{
    static struct program_outcome outcome;
    ts_test_folder(folder, size);
    ts_program_run(folder,
                   ARGUMENTS("phantom", "disc", "-o", "study", "--size", "64", "--slices", "9"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

static const char *skip_text(const char *at)
{
    if (*at++ != '"')
        return NULL;
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at != '\\')
            continue;
        at++;
        if (*at == 'u') {
            if (strspn(at + 1, "0123456789abcdefABCDEF") < 4)
                return NULL;
            at += 4;
        } else if (!*at || !strchr("\"\\/bfnrt", *at)) {
            return NULL;
        }
    }
    return at + 1;
}

static const char *skip_number(const char *at)
{
    const char *digits = at += *at == '-';
    at += strspn(at, "0123456789");
    if (at == digits || (*digits == '0' && at > digits + 1))
        return NULL;
    if (*at == '.') {
        const size_t length = strspn(at + 1, "0123456789");
        if (length == 0)
            return NULL;
        at += 1 + length;
    }
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '+' || at[1] == '-');
        const size_t length = strspn(at, "0123456789");
        if (length == 0)
            return NULL;
        at += length;
    }
    return at;
}

static const char *skip_value(const char *at, int depth)
{
    static const char *const words[] = {"true", "false", "null"};
    at = skip_blanks(at);
    for (size_t i = 0; i < 3; i++)
        if (!strncmp(at, words[i], strlen(words[i])))
            return at + strlen(words[i]);
    if (*at == '"')
        return skip_text(at);
    if (*at != '{' && *at != '[')
        return skip_number(at);
    const char end = *at == '{' ? '}' : ']';
    if (depth > 64)
        return NULL;
    at = skip_blanks(at + 1);
    if (*at == end)
        return at + 1;
    for (;; at++) {
        if (end == '}') {
            at = skip_text(skip_blanks(at));
            at = at ? skip_blanks(at) : NULL;
            if (!at || *at++ != ':')
                return NULL;
        }
        at = skip_value(at, depth + 1);
        at = at ? skip_blanks(at) : NULL;
        if (!at || *at == end)
            return at ? at + 1 : NULL;
        if (*at != ',')
            return NULL;
    }
}

bool ts_test_is_json(const char *text, size_t length)
{
    char *copy = strndup(text, length);
    const char *end = copy ? skip_value(copy, 0) : NULL;
    const bool valid = end && !*skip_blanks(end);
    free(copy);
    return valid;
}

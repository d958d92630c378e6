/* SPDX-License-Identifier: Apache-2.0
 *
 * One rank tells the user what happened to all. A process that should be one of several and is
 * alone says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/number.h"
#include "pipeline/fleet/ranks/ranks.h"

extern char **environ;

bool ts_ranks_speaks(void)
{
    return ts_ranks().number == ts_ranks_speaker();
}

void ts_ranks_name_speaker(struct ts_diag *diag)
{
    char machine[256] = "";
    if (!ts_ranks().some_failed || !ts_ranks_speaks() ||
        gethostname(machine, sizeof machine - 1) != 0)
        return;
    ts_diag_note(diag, &(struct diag_site){.code = "ranks-one"},
                 "rank %d of %d, on %s, has found this error", ts_ranks().number, ts_ranks().count,
                 machine);
}

/* ---- alone ----------------------------------------------------------------------------------- */

/* Returns how many processes a launcher has started together, this one included. The first variable
   that is set decides, because a launcher inside a step of Slurm leaves the variables of that
   step. */
static int64_t count_launched(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                            "SLURM_STEP_NUM_TASKS"};
    int64_t n;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);
        if (text && !ts_number_integer(text, &n))
            return n;
    }
    /* PMIx states the number of this process but not how many there are: at least one more than
       it. */
    const char *rank = getenv("PMIX_RANK");
    return rank && !ts_number_integer(rank, &n) && n > 0 ? n + 1 : 1;
}

void ts_ranks_warn_alone(struct ts_diag *diag)
{
    const int64_t n = count_launched();
    if (ts_ranks().count > 1 || n <= 1)
        return;
    ts_diag_warning(diag, &(struct diag_site){.code = "ranks-alone"},
                    "a launcher has started at least %lld processes, and this one does not know of "
                    "the others: each that runs this chain computes all of it",
                    (long long)n);
    ts_diag_hint(diag, "build with -DTOMOSTAGE_MPI=ON and the launcher's MPI to share one run; "
                       "runs of their own need an output each");
}

enum ts_status ts_ranks_refuse_several(const char *command, struct ts_diag *diag)
{
    const int64_t n = count_launched();
    if (n <= 1)
        return TS_OK;
    ts_diag_error(
        diag, TS_BAD_CHAIN, &(struct diag_site){.code = "ranks-each"},
        "a launcher has started at least %lld processes, and each would do all that `%s` does",
        (long long)n, command);
    return ts_diag_hint(diag,
                        "start it without the launcher, or by one that starts a single process");
}

char **ts_ranks_environment_of_none(void)
{
    static const char *const of_launchers[] = {"OMPI_", "PMIX_", "PMI_"};
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **list = malloc((n + 1) * sizeof *list);
    for (size_t i = 0; list && i < n; i++) {
        bool rank = false;
        for (size_t k = 0; k < sizeof of_launchers / sizeof *of_launchers; k++)
            rank |= strncmp(environ[i], of_launchers[k], strlen(of_launchers[k])) == 0;
        if (!rank)
            list[kept++] = environ[i];
    }
    if (list)
        list[kept] = NULL;
    return list;
}

/* ---- the notes of rank 0 --------------------------------------------------------------------- */

/* A record that is sent to another rank. An empty text means no text. */
struct passed {
    int severity; /* LAST: there is no record, and none follows */
    struct ts_span span;
    char code[64], stage[256], message[4096], hint[4096];
};
enum { LAST = -1 };

static void put_text(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text ? text : "");
}

static void send_notes(const struct ts_diag *diag, int to)
{
    struct passed passed;
    for (size_t i = 0; i < ts_diag_count(diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        memset(&passed, 0, sizeof passed);
        passed.severity = (int)record->severity;
        passed.span = record->span;
        put_text(passed.code, sizeof passed.code, record->code);
        put_text(passed.stage, sizeof passed.stage, record->stage);
        put_text(passed.message, sizeof passed.message, record->message);
        put_text(passed.hint, sizeof passed.hint, record->hint);
        if (record->severity != TS_ERROR)
            ts_ranks_send(to, &passed, sizeof passed);
    }
    memset(&passed, 0, sizeof passed);
    passed.severity = LAST;
    ts_ranks_send(to, &passed, sizeof passed);
}

static bool has_record(const struct ts_diag *diag, const struct passed *passed)
{
    bool found = false;
    for (size_t i = 0; !found && i < ts_diag_count(diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        found = !strcmp(record->code ? record->code : "", passed->code) &&
                !strcmp(record->message, passed->message);
    }
    return found;
}

static void take_note(struct ts_diag *diag, const struct passed *passed)
{
    const struct diag_site site = {
        .code = passed->code, .span = passed->span, .stage = *passed->stage ? passed->stage : NULL};
    if (has_record(diag, passed))
        return;
    if (passed->severity == TS_WARNING)
        ts_diag_warning(diag, &site, "%s", passed->message);
    else
        ts_diag_note(diag, &site, "%s", passed->message);
    if (*passed->hint)
        ts_diag_hint(diag, "%s", passed->hint);
}

void ts_ranks_hand_notes(struct ts_diag *diag)
{
    const int speaker = ts_ranks_speaker();
    struct passed passed = {.severity = TS_NOTE};
    if (speaker > 0 && ts_ranks().number == 0)
        send_notes(diag, speaker);
    while (speaker > 0 && ts_ranks().number == speaker && passed.severity != LAST) {
        ts_ranks_receive(0, &passed, sizeof passed);
        if (passed.severity != LAST)
            take_note(diag, &passed);
    }
}

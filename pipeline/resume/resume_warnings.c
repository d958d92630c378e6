/* SPDX-License-Identifier: Apache-2.0
 *
 * A result lists its warnings as "CODE: STAGE: SENTENCE" (pipeline/run/warnings.h). Those of sources come again, since
 * the sources are opened and read again, and those of a plan as well; what stages warned of while they ran is taken.
 */
#include <string.h>

#include "io/hdf5/hdf5_texts.h"
#include "pipeline/resume/resume.h"
#include "pipeline/run/warnings.h"

struct warning {
    const char *code, *stage, *sentence;
    size_t name_length; /* of the stage's name, without what tells several of them apart: "box#2", "box[radius=2]" */
};

/* Cuts a text into its parts, in place. Returns false where it has fewer. */
static bool cut(char *text, struct warning *warning)
{
    char *stage = strstr(text, ": "), *sentence = stage ? strstr(stage + 2, ": ") : NULL;
    if (!sentence)
        return false;
    *stage = *sentence = '\0';
    *warning = (struct warning){text, stage + 2, sentence + 2, strcspn(stage + 2, "#[")};
    return true;
}

static bool is_of(const struct warning *warning, const char *stage)
{
    return strlen(stage) == warning->name_length && !strncmp(stage, warning->stage, warning->name_length);
}

/* Returns true where a stage of this name was taken, and in *other whether the result has one that was not. */
static bool is_taken(const struct resume *resume, const struct warning *warning, bool *other)
{
    const struct ts_chain *old = resume->old.chain;
    const struct ts_plan *plan = resume->plan;
    bool any = false;
    *other = false;
    for (int32_t j = 0; j < old->n_stages; j++) {
        bool taken = false;
        for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
            taken |= !resume->computed[i] && resume->match[i] == resume->recorded.chain->n_sources + j;
        if (!is_of(warning, old->stages[j].stage->name))
            continue;
        any |= taken;
        *other |= !taken;
    }
    return any;
}

static bool is_there(const struct warning *warning, const struct ts_diag *diag)
{
    bool there = false;
    for (size_t i = 0; i < ts_diag_count(diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        char sentence[4096];
        ts_text_escape(sentence, sizeof sentence, record->message);
        there |= record->severity == TS_WARNING && record->stage && !strcmp(record->stage, warning->stage) &&
                 record->code && !strcmp(record->code, warning->code) && !strcmp(sentence, warning->sentence);
    }
    return there;
}

enum ts_status ts_resume_warnings(struct resume *resume, struct ts_diag *diag)
{
    const char *const *texts;
    size_t n;
    enum ts_status status = ts_hdf5_read_texts(resume->recorded.path, WARNINGS_PATH, resume->arena, &texts, &n, diag);
    for (size_t i = 0; status == TS_OK && i < n; i++) {
        struct warning warning;
        bool other;
        char *text = ts_arena_text(resume->arena, texts[i], strlen(texts[i]));
        if (!text)
            return ts_diag_no_memory(diag, strlen(texts[i]));
        if (!cut(text, &warning) || !is_taken(resume, &warning, &other) || is_there(&warning, diag))
            continue;
        if (other) {
            ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "resume-warnings", .stage = warning.stage},
                          "%s warns of it (%s), and has another %.*s that is not taken: it does not say of which",
                          resume->recorded.path, warning.code, (int)warning.name_length, warning.stage);
            return ts_diag_hint(diag, "without --resume-from everything is computed");
        }
        ts_diag_warning(diag, &(struct diag_site){.code = warning.code, .stage = warning.stage}, "%s",
                        warning.sentence);
    }
    return status;
}

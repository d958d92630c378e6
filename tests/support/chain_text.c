/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/chain_text.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

char *ts_test_read(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t size = 0;
    FILE *out = file ? open_memstream(&text, &size) : NULL;
    for (int c; out && (c = fgetc(file)) != EOF;)
        fputc(c, out);
    if (out)
        fclose(out);
    if (file)
        fclose(file);
    *length = size;
    return text;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t ts_test_names(const char *folder, const char *ending, char ***names)
{
    size_t n = 0;
    DIR *directory = opendir(folder);
    *names = NULL;
    for (const struct dirent *entry; directory && (entry = readdir(directory)) != NULL;) {
        const size_t length = strlen(entry->d_name), tail = strlen(ending);
        if (length < tail || strcmp(entry->d_name + length - tail, ending))
            continue;
        char **grown = realloc(*names, (n + 1) * sizeof *grown);
        if (!grown)
            break;
        *names = grown;
        grown[n++] = strdup(entry->d_name);
    }
    if (directory)
        closedir(directory);
    qsort(*names, n, sizeof **names, compare_names);
    return n;
}

char *ts_test_errors(const struct ts_diag *diag)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    for (size_t i = 0; i < ts_diag_count(diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        if (record->severity == TS_ERROR)
            fprintf(out, "%d:%d: error: %s%s%s\n", record->span.line, record->span.column,
                    record->stage ? record->stage : "", record->stage ? ": " : "", record->message);
    }
    fclose(out);
    return text;
}

enum ts_status ts_test_parse(const char *text, struct ts_chain **chain, struct ts_diag **diag)
{
    *diag = ts_diag_create();
    return ts_chain_parse(text, strlen(text), "text", "folder", chain, *diag);
}

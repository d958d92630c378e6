/* SPDX-License-Identifier: Apache-2.0
 *
 * What the pages for users show must be accepted: every chain in a block of code, and every chain
 * of one line. A block that is headed `# typo.yaml` shows an error and must be refused.
 * tests/results/test_pages.py runs the commands.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/tomostage.h"
#include "tests/support/support.h"

static void parses(const char *page, const char *text, size_t length, enum ts_status expected)
{
    struct ts_diag *diag = ts_diag_create();
    struct ts_chain *chain = NULL;
    cr_assert_eq(ts_chain_parse(text, length, page, NULL, &chain, diag), expected, "%s: %s\n%.*s",
                 page, ts_diag_get(diag, 0) ? ts_diag_get(diag, 0)->message : "", (int)length,
                 text);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

/* Blocks that are indented by four and have a line `tomostage: 2`: the lines from there on, up to
 * one that is not. */
static int blocks(const char *page, const char *text)
{
    static const char start[] = "    tomostage: 2\n", typo[] = "    # typo.yaml\n";
    const ptrdiff_t head = sizeof typo - 1;
    int n = 0;
    for (const char *at = strstr(text, start); at; at = strstr(at, start), n++) {
        const bool wrong = at - text >= head && !strncmp(at - head, typo, (size_t)head);
        char chain[4096];
        size_t length = 0;
        for (; !strncmp(at, "    ", 4); at = strchr(at, '\n') + 1) {
            const size_t line = strcspn(at + 4, "\n") + 1;
            cr_assert_lt(length + line, sizeof chain);
            memcpy(chain + length, at + 4, line);
            length += line;
        }
        parses(page, chain, length, wrong ? TS_BAD_CHAIN : TS_OK);
    }
    return n;
}

static int one_liners(const char *page, const char *text)
{
    static const char start[] = "tomostage run '";
    int n = 0;
    for (const char *at = strstr(text, start); at; at = strstr(at, start), n++) {
        at += strlen(start);
        parses(page, at, strcspn(at, "'"), TS_OK);
    }
    return n;
}

Test(docs, chains_shown_to_users_parse)
{
    static const struct {
        const char *page;
        int n_blocks, n_lines; /* at least */
    } pages[] = {{"../README.md", 2, 1},
                 {"../docs/chains.md", 1, 2},
                 {"../docs/tutorial.md", 3, 0},
                 {"../docs/inputs.md", 1, 0}};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        static char text[1 << 18];
        FILE *file = fopen(ts_test_path(pages[i].page), "rb");
        cr_assert_not_null(file, "%s", pages[i].page);
        const size_t length = fread(text, 1, sizeof text - 1, file);
        text[length] = '\0';
        cr_assert(feof(file), "%s is longer than %zu bytes", pages[i].page, sizeof text);
        fclose(file);
        cr_assert_geq(blocks(pages[i].page, text), pages[i].n_blocks, "%s", pages[i].page);
        cr_assert_geq(one_liners(pages[i].page, text), pages[i].n_lines, "%s", pages[i].page);
    }
}

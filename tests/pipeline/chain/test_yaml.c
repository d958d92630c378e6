/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts as an enemy, an accident or a dying disk may make them: the tree's places, what hostile
 * texts cost, texts cut anywhere, flipped bits, and memory that runs out. A text is a chain, or it
 * is refused with a place.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "pipeline/chain/yaml.h"
#include "tests/support/allocations.h"
#include "tests/support/chain_text.h"
#include "tests/support/support.h"

TestSuite(yaml);

static void expect_span(const struct node *node, int line, int column, int length)
{
    cr_expect(node->span.line == line && node->span.column == column && node->span.length == length,
              "found %d:%d length %d instead of %d:%d length %d", node->span.line,
              node->span.column, node->span.length, line, column, length);
}

Test(yaml, nodes_know_their_place)
{
    static const char text[] = "# \xC3\xA9\xC3\xA9\r\n"
                               "a: {\xC3\xA4: \"x y\", b: [1, 22]}\r\n"
                               "list:\n"
                               "  - 'one'\n"
                               "  - |\n"
                               "    two\n"
                               "    lines\n"
                               "last:\n";
    struct tree tree = {.arena = ts_arena_create(),
                        .diag = ts_diag_create(),
                        .text = text,
                        .length = sizeof text - 1};
    cr_assert(ts_yaml_read(&tree));
    cr_assert_eq(ts_diag_count(tree.diag), 0);
    cr_assert_eq(tree.root->kind, NODE_MAP);
    cr_assert_eq(tree.root->n, 3);
    const struct node *a = ts_tree_find(tree.root, "a"), *list = ts_tree_find(tree.root, "list");
    expect_span(a->key, 2, 1, 1);
    expect_span(a, 2, 4, 23);
    const struct node *umlaut = ts_tree_find(a, "\xC3\xA4"), *b = ts_tree_find(a, "b");
    expect_span(umlaut->key, 2, 5, 2);
    expect_span(umlaut, 2, 9, 5);
    cr_expect(umlaut->quoted);
    cr_expect_str_eq(umlaut->text, "x y");
    expect_span(b, 2, 19, 7);
    cr_expect_not(b->first->quoted);
    expect_span(b->first->next, 2, 23, 2);
    expect_span(list->first, 4, 5, 5);
    cr_expect_str_eq(list->first->next->text, "two\nlines\n");
    expect_span(list->first->next, 5, 5, 1);
    expect_span(ts_tree_find(tree.root, "last"), 8, 6, 0);
    ts_arena_destroy(tree.arena);
    ts_diag_destroy(tree.diag);
}

/* ---- hostile texts --------------------------------------------------------------------------- */

struct hostile {
    const char *name, *head, *repeated, *tail;
    size_t times; /* 0: up to 1 MiB */
};

static const struct hostile hostiles[] = {
    {"open brackets", "", "[", "", 100000},
    {"open brackets, 1 MiB", "", "[", "", 0},
    {"open braces", "", "{", "", 100000},
    {"maps in maps", "", "{a: ", "", 0},
    {"dashes", "", "- ", "", 0},
    {"question marks", "", "? ", "", 0},
    {"colons", "", ": ", "", 0},
    {"indented maps", "", "a:\n ", "", 0},
    {"keys of lists", "", "[a: ", "", 0},
    {"one long word", "", "x", "", 0},
    {"one long word as a stage", "stages: [", "x", "]", 0},
    {"one long word as a number", "tomostage: 2\nstages: [{box: {radius: ", "9", "}}]", 0},
    {"one long quoted text", "stages: [\"", "x", "\"]", 0},
    {"escapes", "a: \"", "\\n", "\"", 0},
    {"an open quote", "\"", "x\n", "", 0},
    {"quotes", "", "'", "", 0},
    {"the same key", "", "k: 1\n", "", 0},
    {"a list of numbers", "tomostage: 2\nstages: [{radon: {angles: [", "1, ", "0]}}]", 0},
    {"rows of numbers", "tomostage: 2\nstages: [{radon: {angles: [", "[1], ", "[0]]}}]", 0},
    {"a long row and many short ones",
     "tomostage: 2\nstages: [{convolve: {weights: [[1,2,3,4,5,6,7,8,9]", ",[]", "]}}]", 0},
    {"stages that are none", "tomostage: 2\nstages: [", "histogramm, ", "box]", 0},
    {"words that are no stage", "tomostage: 2\nstages: [", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, ",
     "box]", 250},
    {"stages with unknown keys", "tomostage: 2\nstages: [",
     "{box: {radiu: 1, rad: 2, border: 7}}, ", "box]", 200},
    {"references to nothing", "tomostage: 2\nstages: [", "{equalize: {reference: nothing}}, ",
     "box]", 250},
    {"names", "tomostage: 2\nstages: [", "{equalize: {name: a}}, ", "box]", 250},
    {"anchors", "", "- &a x\n", "", 0},
    {"anchors in a row", "", "&a ", "", 0},
    {"aliases", "a: &a [x]\n", "b: *a\n", "", 0},
    {"a bomb of aliases", "a: &a [x, x]\nb: &b [*a, *a]\n", "c: [*b, *b]\n", "", 0},
    {"tags", "", "!t ", "", 0},
    {"a long tag", "!", "x", " y", 0},
    {"tag directives", "", "%TAG !a! b\n", "", 0},
    {"documents", "", "---\n", "", 0},
    {"ends of documents", "", "...\n", "", 0},
    {"lines", "", "\n", "", 0},
    {"spaces", "", " ", "", 0},
    {"tabs", "a:\n", "\t", "", 0},
    {"carriage returns", "", "\r", "", 0},
    {"comments", "", "#\n", "", 0},
    {"one long comment", "#", "x", "", 0},
    {"block texts", "", "- |\n x\n", "", 0},
    {"one block text", "a: |\n", " x\n", "", 0},
    {"folded lines", "a: >\n", " x\n\n", "", 0},
    {"a plain text of many lines", "a: ", "x\n ", "", 0},
    {"characters of four bytes", "a: ", "\xF0\x9F\x98\x80", "", 0},
    {"line separators", "a: ", "\xE2\x80\xA8", "", 0},
    {"commas", "[", ",", "]", 0},
    {"one-line: names", "dicom x |", "a|", "a", 0},
    {"one-line: paths", "dicom ", "x ", "| equalize", 0},
    {"one-line: quotes", "dicom ", "\"a\" ", "| equalize", 0},
    {"one-line: an open quote", "dicom ", "\"", "", 0},
    {"one-line: commas", "dicom x | radon angles=", "1,", "1", 0},
    {"one-line: keys", "dicom x | box ", "a=1 ", "", 0},
    {"one-line: outputs", "dicom x ", "| hdf5 ", "", 0},
    {"one-line: one word", "", "x", "", 0},
    {"one-line: backslashes", "dicom \"", "\\", "", 0},
};

static char *make_hostile(const struct hostile *hostile, size_t *length)
{
    const size_t head = strlen(hostile->head), one = strlen(hostile->repeated),
                 tail = strlen(hostile->tail);
    const size_t times = hostile->times ? hostile->times : (TREE_MAX_BYTES - head - tail) / one;
    char *text = malloc(head + times * one + tail + 1);
    memcpy(text, hostile->head, head);
    for (size_t i = 0; i < times; i++)
        memcpy(text + head + i * one, hostile->repeated, one);
    memcpy(text + head + times * one, hostile->tail, tail + 1);
    *length = head + times * one + tail;
    return text;
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int64_t peak_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

/* OK, or errors that each have a place in the text. */
static enum ts_status expect_verdict(const char *what, size_t at, const char *text, size_t length)
{
    struct ts_diag *diag = ts_diag_create();
    struct ts_chain *chain = NULL;
    const enum ts_status status = ts_chain_parse(text, length, "text", NULL, &chain, diag);
    if (status == TS_OK)
        cr_expect(chain && ts_diag_error_count(diag) == 0, "%s, %zu", what, at);
    else
        cr_expect(!chain && status == TS_BAD_CHAIN && ts_diag_error_count(diag) > 0,
                  "%s, %zu: status %d", what, at, status);
    for (size_t i = 0; i < ts_diag_count(diag); i++) {
        const struct ts_span span = ts_diag_get(diag, i)->span;
        cr_expect(span.line >= 1 && span.column >= 1 && span.length >= 0 &&
                      (size_t)span.column <= length + 1,
                  "%s, %zu: %d:%d length %d: %s", what, at, span.line, span.column, span.length,
                  ts_diag_get(diag, i)->message);
    }
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
    return status;
}

Test(yaml, hostile_texts_are_refused_at_once)
{
#ifdef TS_SANITIZED
    /* The sanitizers' own work and shadows. */
    const double limit_seconds = 5;
    const int64_t limit_bytes = 1 << 30;
#else
    const double limit_seconds = 0.050;
    const int64_t limit_bytes = 32 << 20;
#endif
    const int64_t peak_before = peak_bytes();
    double slowest = 0;
    const char *slowest_name = "";
    for (size_t i = 0; i < sizeof hostiles / sizeof *hostiles; i++) {
        size_t length;
        char *text = make_hostile(&hostiles[i], &length);
        double seconds = 0;
        /* Twice, and the faster: the first one pays for fresh pages and for others on the
         * machine. */
        for (int again = 0; again < 2; again++) {
            const double start = cpu_seconds();
            cr_expect_eq(expect_verdict(hostiles[i].name, 0, text, length), TS_BAD_CHAIN, "%s",
                         hostiles[i].name);
            const double took = cpu_seconds() - start;
            seconds = again == 0 || took < seconds ? took : seconds;
        }
        cr_expect(seconds <= limit_seconds, "%s: %.0f ms", hostiles[i].name, 1e3 * seconds);
        if (seconds > slowest) {
            slowest = seconds;
            slowest_name = hostiles[i].name;
        }
        free(text);
    }
    fprintf(stderr, "yaml: slowest hostile text '%s', %.1f ms\n", slowest_name, 1e3 * slowest);
    const int64_t grown = peak_bytes() - peak_before;
    fprintf(stderr, "yaml: hostile texts took %" PRId64 " KiB\n", grown / 1024);
    cr_expect_leq(grown, limit_bytes);
}

Test(yaml, limits_hold_exactly)
{
    static const char open[] = "tomostage: 2\nstages: [equalize]\n#";
    char *text = malloc(TREE_MAX_BYTES + 1);
    memset(text, 'x', TREE_MAX_BYTES + 1);
    memcpy(text, open, sizeof open - 1);
    cr_expect_eq(expect_verdict("1 MiB", 0, text, TREE_MAX_BYTES), TS_OK);
    cr_expect_eq(expect_verdict("1 MiB and a byte", 0, text, TREE_MAX_BYTES + 1), TS_BAD_CHAIN);
    /* Nodes beside the items: the map, 2 keys and their values, the item and its key, the map,
     * angles and its list. */
    for (int over = 0; over < 2; over++) {
        const int n = TREE_MAX_NODES - 10 + over;
        size_t length = (size_t)sprintf(text, "tomostage: 2\nstages: [{radon: {angles: [");
        for (int i = 0; i < n; i++)
            length += (size_t)sprintf(text + length, i + 1 < n ? "1," : "1]}}]");
        cr_expect_eq(expect_verdict("nodes", (size_t)n, text, length), over ? TS_BAD_CHAIN : TS_OK);
    }
    free(text);
}

/* ---- damaged texts --------------------------------------------------------------------------- */

static const char oneline[] =
    "dicom ./study \"b c\" series=2 | box radius=2 name=smooth | statistics percentiles=5,50 | "
    "histogram reference=smooth range=-1,1e3 | rescale clip=false | hdf5 \"r 1.h5\"";

/* Calls with every good chain: the files, then the one-line form. */
static void with_good_chains(void (*use)(const char *name, const char *text, size_t length))
{
    char **names;
    const size_t n = ts_test_names(ts_test_path("chains/good"), ".yaml", &names);
    cr_assert_geq(n, 3);
    for (size_t i = 0; i < n; i++) {
        char path[512];
        size_t length;
        snprintf(path, sizeof path, "%s/%s", ts_test_path("chains/good"), names[i]);
        char *text = ts_test_read(path, &length);
        cr_assert_not_null(text);
        use(names[i], text, length);
        free(text);
        free(names[i]);
    }
    free(names);
    use("one line", oneline, sizeof oneline - 1);
}

static void cut_everywhere(const char *name, const char *text, size_t length)
{
    size_t ok = 0;
    for (size_t i = 0; i <= length; i++) {
        /* A copy of its own size, so that a byte read past the end shows. */
        char *copy = malloc(i + 1);
        memcpy(copy, text, i);
        char *exact = realloc(copy, i > 0 ? i : 1);
        ok += expect_verdict(name, i, exact, i) == TS_OK;
        free(exact);
    }
    cr_expect(ok >= 1 && ok < length, "%s: %zu of %zu cuts are chains", name, ok, length + 1);
}

Test(yaml, texts_cut_at_every_byte)
{
    with_good_chains(cut_everywhere);
}

enum { FLIPS = 3000 };

static void flip_bits(const char *name, const char *text, size_t length)
{
    uint64_t random = 7;
    fprintf(stderr, "yaml: %d flips of %s from seed %" PRIu64 "\n", FLIPS, name, random);
    char *copy = malloc(length);
    for (size_t i = 0; i < FLIPS; i++) {
        memcpy(copy, text, length);
        for (uint64_t n = 1 + ts_random_next(&random) % 4; n > 0; n--) {
            const uint64_t choice = ts_random_next(&random);
            const size_t at = (size_t)(ts_random_next(&random) % length);
            if (choice % 2)
                copy[at] = (char)(copy[at] ^ (1 << (choice >> 8) % 8));
            else
                copy[at] = "{}[]:,&*!|>'\"%#-? \n\t=0"[(choice >> 8) % 23];
        }
        expect_verdict(name, i, copy, length);
    }
    free(copy);
}

Test(yaml, texts_with_flipped_bits)
{
    with_good_chains(flip_bits);
}

/* ---- no memory ------------------------------------------------------------------------------- */

static void fail_allocations(const char *name, const char *text, size_t length)
{
    for (int forever = 0; forever < 2; forever++) {
        int64_t point = 0, failed;
        do {
            const int64_t live = ts_allocations_live();
            struct ts_diag *diag = ts_diag_create();
            struct ts_chain *chain = NULL;
            ts_allocations_fail(point, forever);
            const enum ts_status status =
                ts_chain_parse(text, length, "text", "folder", &chain, diag);
            failed = ts_allocations_restore();
            cr_expect(status == TS_OK ? chain && ts_diag_error_count(diag) == 0
                                      : !chain && ts_diag_error_count(diag) > 0,
                      "%s, allocation %" PRId64 ": status %d", name, point, status);
            cr_expect(status == TS_OK || status == TS_RUN_FAILED,
                      "%s, allocation %" PRId64 ": status %d, %s", name, point, status,
                      ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
            char *canonical = chain ? ts_chain_canonical(chain) : NULL;
            cr_expect_eq(canonical != NULL, chain != NULL);
            free(canonical);
            ts_chain_destroy(chain);
            ts_diag_destroy(diag);
            cr_expect_eq(ts_allocations_live() - live, 0,
                         "%s, allocation %" PRId64 ": %" PRId64 " left", name, point,
                         ts_allocations_live() - live);
            point++;
        } while (failed > 0 && point < 100000);
        cr_expect_gt(point, 4, "%s: hardly anything failed", name);
    }
}

Test(yaml, every_allocation_may_fail)
{
    if (!ts_allocations_can_fail()) {
        fprintf(
            stderr,
            "SKIPPED yaml/every_allocation_may_fail: the sanitizers have their own allocator\n");
        cr_skip_test("no control over the allocator");
    }
    with_good_chains(fail_allocations);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Chains: what good ones become, and for every file in tests/chains the exact errors that its
 * comments state:
 *
 *     # expect: 5:27: error: box.radius: 9000 is outside [0, 1024] pixel
 *     # expect-plan: ...    an error of planning: such a file must be read without error
 */
#include <criterion/criterion.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "core/number.h"
#include "include/tomostage_array.h"
#include "stages/filters/box.h"
#include "stages/filters/convolve.h"
#include "stages/histogram/histogram.h"
#include "stages/histogram/statistics.h"
#include "stages/intensity/rescale.h"
#include "stages/projection/radon.h"
#include "tests/files/dicom_fixture.h"
#include "tests/support/chain_text.h"
#include "tests/support/folders.h"
#include "tests/support/support.h"

TestSuite(chain);

/* The stated errors, a line each. Counts the stated errors of planning. */
static char *stated_errors(const char *text, int *n_plan)
{
    static const char parse_mark[] = "# expect: ", plan_mark[] = "# expect-plan: ";
    char *out_text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&out_text, &length);
    *n_plan = 0;
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, parse_mark, sizeof parse_mark - 1))
            fprintf(out, "%.*s\n", (int)strcspn(line + sizeof parse_mark - 1, "\n"),
                    line + sizeof parse_mark - 1);
        *n_plan += !strncmp(line, plan_mark, sizeof plan_mark - 1);
    }
    fclose(out);
    return out_text;
}

static void check_bad_file(const char *name)
{
    char path[512];
    size_t length;
    int n_plan;
    snprintf(path, sizeof path, "%s/%s", ts_test_path("chains"), name);
    char *text = ts_test_read(path, &length);
    cr_assert_not_null(text);
    char *stated = stated_errors(text, &n_plan);
    struct ts_diag *diag = ts_diag_create();
    struct ts_chain *chain = NULL;
    const enum ts_status status = ts_chain_load(path, &chain, diag);
    char *found = ts_test_errors(diag);
    cr_expect(*stated || n_plan > 0, "%s states no expectation", name);
    cr_expect_str_eq(found, stated, "%s:\n%sinstead of\n%s", name, found, stated);
    cr_expect_eq(status, *stated ? TS_BAD_CHAIN : TS_OK, "%s: status %d", name, status);
    cr_expect_eq(chain == NULL, status != TS_OK, "%s", name);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
    free(found);
    free(stated);
    free(text);
}

Test(chain, every_bad_file_has_exactly_its_errors)
{
    char **names;
    const size_t n = ts_test_names(ts_test_path("chains"), ".yaml", &names);
    cr_assert_geq(n, 40, "only %zu bad chains in %s", n, ts_test_path("chains"));
    for (size_t i = 0; i < n; i++) {
        check_bad_file(names[i]);
        free(names[i]);
    }
    free(names);
    fprintf(stderr, "chain: %zu bad chains compared\n", n);
}

/* Puts a path into the empty lists of paths of a canonical text. */
static char *fill_paths(const char *canonical)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    for (const char *at = canonical; *at; at++) {
        fputc(*at, out);
        if (at[0] == '[' && at[1] == ']')
            fputc('x', out);
    }
    fclose(out);
    return text;
}

/* Parses what ts_chain_text() wrote, whose paths are as seen from the current folder, and checks
   that it is the same chain. Returns false if one line cannot hold it. */
static bool is_same_chain(const struct ts_chain *chain, bool one_line, const char *name)
{
    char text[16384];
    struct ts_diag *diag = ts_diag_create();
    struct ts_chain *again = NULL;
    const size_t length = ts_chain_text(chain, one_line, text, sizeof text);
    cr_assert_lt(length, sizeof text);
    if (length > 0) {
        cr_assert_eq(ts_chain_parse(text, length, "again", NULL, &again, diag), TS_OK, "%s: %s\n%s",
                     name, text, ts_test_errors(diag));
        char *first = ts_chain_canonical(chain), *second = ts_chain_canonical(again);
        cr_expect_str_eq(first, second, "%s: %s", name, text);
        cr_expect_eq(chain->output.path == NULL, again->output.path == NULL, "%s", text);
        cr_expect_eq(chain->output.n_sinks, again->output.n_sinks, "%s", text);
        free(first);
        free(second);
    }
    ts_chain_destroy(again);
    ts_diag_destroy(diag);
    return length > 0;
}

Test(chain, text_of_what_was_given_is_the_same_chain)
{
    char **names;
    const size_t n = ts_test_names(ts_test_path("chains/good"), ".yaml", &names);
    size_t lines = 0;
    for (size_t i = 0; i < n; i++) {
        char path[512];
        struct ts_diag *diag = ts_diag_create();
        struct ts_chain *chain = NULL;
        snprintf(path, sizeof path, "%s/%s", ts_test_path("chains/good"), names[i]);
        cr_assert_eq(ts_chain_load(path, &chain, diag), TS_OK);
        cr_expect(is_same_chain(chain, false, names[i]));
        lines += is_same_chain(chain, true, names[i]);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
        free(names[i]);
    }
    free(names);
    cr_expect_gt(lines, n / 2);
}

/* Such names mean nothing in YAML unless they are quoted, and others hold what a line cannot. */
Test(chain, text_keeps_paths_of_any_name)
{
    static const char *const paths[] = {"null", "Null", "~", "a b", "./null", "a\tb", "1.nii"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char text[256];
        struct ts_diag *diag = ts_diag_create();
        struct ts_chain *chain = NULL;
        snprintf(text, sizeof text,
                 "tomostage: 2\ninput: {dicom: \"%s\"}\nstages: [box: {radius: 1}]\n", paths[i]);
        cr_assert_eq(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag), TS_OK, "%s",
                     ts_test_errors(diag));
        cr_expect(is_same_chain(chain, false, paths[i]));
        is_same_chain(chain, true, paths[i]);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
}

Test(chain, text_of_what_was_given_has_no_more)
{
    static const char line[] =
        "dicom study series=2 | input atlas nifti \"a \\\"b\\\" | c.nii\" | box radius={sweep: [1, "
        "2]} | "
        "save name=smooth | equalize input=smooth | hdf5 r.h5 compression=small | nifti r.nii.gz";
    char text[1024], few[8];
    struct ts_diag *diag = ts_diag_create();
    struct ts_chain *chain = NULL;
    cr_assert_eq(ts_chain_parse(line, sizeof line - 1, "line", NULL, &chain, diag), TS_OK, "%s",
                 ts_test_errors(diag));
    cr_expect_eq(ts_chain_text(chain, true, text, sizeof text), strlen(text));
    cr_expect_str_eq(text,
                     "dicom study series=\"2\" | input atlas nifti \"a \\\"b\\\" | c.nii\" | box "
                     "radius={sweep: [1, 2]} | save name=smooth | equalize | hdf5 r.h5 | nifti "
                     "r.nii.gz compression=small");
    cr_expect_eq(ts_chain_text(chain, true, few, sizeof few), strlen(text));
    cr_expect_str_eq(few, "dicom s");
    cr_assert_eq(ts_chain_set(chain, "equalize.bins=256", diag), TS_OK, "%s", ts_test_errors(diag));
    ts_chain_text(chain, false, text, sizeof text);
    cr_expect_str_eq(text, "tomostage: 2\n"
                           "input: {dicom: study, series: \"2\"}\n"
                           "inputs:\n"
                           "  atlas: {nifti: \"a \\\"b\\\" | c.nii\"}\n"
                           "stages:\n"
                           "  - box: {radius: {sweep: [1, 2]}}\n"
                           "  - save: {name: smooth}\n"
                           "  - equalize: {bins: 256}\n"
                           "output: {hdf5: r.h5, nifti: r.nii.gz, compression: small}\n");
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

/* What one line cannot hold: a form before version 2, an output without a file, a control
   character. */
Test(chain, text_on_one_line_is_refused)
{
    static const char *const texts[] = {
        "tomostage: 1\ninput: {dicom: study}\nstages: [equalize]\n",
        "tomostage: 2\ninput: {dicom: study}\nstages: [equalize]\noutput: {compression: small}\n",
        "tomostage: 2\ninput: {dicom: \"stu\\tdy\"}\nstages: [equalize]\n",
        "tomostage: 2\ninput: {dicom: study, series: \"a\\tb\"}\nstages: [equalize]\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct ts_chain *chain = NULL;
        cr_assert_eq(ts_chain_parse(texts[i], strlen(texts[i]), "text", NULL, &chain, diag), TS_OK,
                     "%s", ts_test_errors(diag));
        cr_expect_not(is_same_chain(chain, true, texts[i]));
        cr_expect(is_same_chain(chain, false, texts[i]));
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
}

Test(chain, canonical_text_is_a_chain_of_the_same_text)
{
    char **names;
    const size_t n = ts_test_names(ts_test_path("chains/good"), ".yaml", &names);
    cr_assert_geq(n, 3);
    for (size_t i = 0; i < n; i++) {
        char path[512];
        struct ts_diag *diag = ts_diag_create();
        struct ts_chain *chain = NULL, *again = NULL;
        snprintf(path, sizeof path, "%s/%s", ts_test_path("chains/good"), names[i]);
        cr_assert_eq(ts_chain_load(path, &chain, diag), TS_OK, "%s: %s", names[i],
                     ts_test_errors(diag));
        char *first = ts_chain_canonical(chain);
        cr_assert_null(strstr(first, "study"), "%s: a path is in\n%s", names[i], first);
        cr_assert_null(strstr(first, "result"), "%s: a path is in\n%s", names[i], first);
        char *filled = fill_paths(first);
        cr_assert_eq(ts_chain_parse(filled, strlen(filled), "again", NULL, &again, diag), TS_OK,
                     "%s\n%s", filled, ts_test_errors(diag));
        char *second = ts_chain_canonical(again);
        cr_expect_str_eq(first, second);
        free(first);
        free(filled);
        free(second);
        ts_chain_destroy(chain);
        ts_chain_destroy(again);
        ts_diag_destroy(diag);
        free(names[i]);
    }
    free(names);
}

Test(chain, every_value_arrives_with_its_place)
{
    struct ts_diag *diag = ts_diag_create();
    struct ts_chain *chain = NULL;
    cr_assert_eq(ts_chain_load(ts_test_path("chains/good/everything.yaml"), &chain, diag), TS_OK);
    cr_assert_eq(chain->n_sources, 2);
    cr_assert_eq(chain->n_stages, 13);
    const struct ts_texts *paths = chain->sources[0].set.values;
    cr_assert_eq(paths->n, 3);
    cr_expect_str_eq(paths->items[0], ts_test_path("chains/good/study/head"));
    cr_expect_str_eq(paths->items[1], ts_test_path("chains/good/study/neck and back"));
    cr_expect_str_eq(paths->items[2], "/data/more");
    cr_expect_str_eq(chain->sources[1].name, "atlas");
    cr_expect_str_eq(chain->output.path, ts_test_path("chains/good/result.h5"));
    cr_expect_eq(chain->output.span.line, 26);
    cr_expect_not(((const struct rescale_params *)chain->stages[1].set.values)->clip);
    const struct box_params *box = chain->stages[2].set.values;
    cr_expect_eq(box->radius, 2);
    cr_expect_eq(box->constant, -1.5e-3);
    cr_expect_eq(chain->stages[2].set.spans[0].line, 13);
    cr_expect_eq(chain->stages[2].set.spans[0].column, 19);
    cr_expect_eq(chain->stages[2].set.given, 0x0Du); /* radius, border, constant */
    cr_expect_str_eq(chain->stages[3].name, "twice-smooth");
    const struct statistics_params *statistics = chain->stages[5].set.values;
    cr_expect_eq(statistics->percentiles.columns, 1);
    cr_expect_eq(statistics->percentiles.values[0], 25);
    const struct convolve_params *convolve = chain->stages[6].set.values;
    cr_expect_eq(convolve->weights.rows, 3);
    cr_expect_eq(convolve->weights.columns, 3);
    cr_expect_eq(convolve->weights.values[5], -2);
    const struct histogram_params *histogram = chain->stages[7].set.values;
    cr_expect_eq(histogram->reference.node, 1);
    cr_expect_eq(histogram->range.values[1], 1.5);
    const struct chain_stage *equalize = &chain->stages[9];
    cr_expect_eq(equalize->input_node, 2 + 3);
    cr_expect_eq(chain->stages[8].input_node, 2 + 7);
    cr_expect_eq(chain->stages[0].input_node, 0);
    cr_expect_eq(((const struct radon_params *)chain->stages[12].set.values)->angles.values[1],
                 10.5);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

/* Choices are matched in any case; what is kept, and recorded, is the spelling of the table. */
Test(chain, choices_are_matched_in_any_case)
{
    static const char *const lines[] = {
        "dicom ./study | box radius=2 border=Mirror | hdf5 result.h5",
        "dicom ./study | box radius=2 border=mirror | hdf5 result.h5"};
    char *texts[2];
    for (int i = 0; i < 2; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        cr_assert_eq(ts_test_parse(lines[i], &chain, &diag), TS_OK, "%s", ts_test_errors(diag));
        texts[i] = ts_chain_canonical(chain);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
    cr_expect_str_eq(texts[0], texts[1]);
    cr_expect(strstr(texts[0], "mirror") && !strstr(texts[0], "Mirror"));
    free(texts[0]);
    free(texts[1]);
}

/* Both forms of one chain, and what the one-line form makes of quotes and commas. */
Test(chain, one_line_is_the_same_chain)
{
    static const char line[] =
        "dicom ./study series=2 | box radius=2 border=mirror | statistics percentiles=5,50 name=s "
        "| histogram reference=s | save name=\"kept\" | radon angles=0,10,20 | hdf5 result.h5";
    static const char yaml[] = "tomostage: 2\n"
                               "input: {dicom: ./study, series: 2}\n"
                               "stages:\n"
                               "  - box: {radius: 2, border: mirror}\n"
                               "  - statistics: {percentiles: [5, 50], name: s}\n"
                               "  - histogram: {reference: s}\n"
                               "  - save: {name: kept}\n"
                               "  - radon: {angles: [0, 10, 20]}\n"
                               "output: {hdf5: result.h5}\n";
    struct ts_diag *diags[2];
    struct ts_chain *chains[2];
    cr_assert_eq(ts_test_parse(line, &chains[0], &diags[0]), TS_OK, "%s", ts_test_errors(diags[0]));
    cr_assert_eq(ts_test_parse(yaml, &chains[1], &diags[1]), TS_OK, "%s", ts_test_errors(diags[1]));
    char *texts[2] = {ts_chain_canonical(chains[0]), ts_chain_canonical(chains[1])};
    cr_expect_str_eq(texts[0], texts[1]);
    cr_expect_str_eq(chains[0]->output.path, "folder/result.h5");
    cr_expect_eq(chains[0]->stages[0].set.spans[0].column, 37);
    for (int i = 0; i < 2; i++) {
        free(texts[i]);
        ts_chain_destroy(chains[i]);
        ts_diag_destroy(diags[i]);
    }
    const char *quoted = "dicom \"my study\" ./b=c \"x|y,\\\"z\\\"\" | equalize";
    cr_assert_eq(ts_test_parse(quoted, &chains[0], &diags[0]), TS_OK, "%s",
                 ts_test_errors(diags[0]));
    const struct ts_texts *paths = chains[0]->sources[0].set.values;
    cr_assert_eq(paths->n, 3);
    cr_expect_str_eq(paths->items[0], "folder/my study");
    cr_expect_str_eq(paths->items[1], "folder/b=c");
    cr_expect_str_eq(paths->items[2], "folder/x|y,\"z\"");
    cr_expect_null(chains[0]->output.path);
    ts_chain_destroy(chains[0]);
    ts_diag_destroy(diags[0]);
}

/* The version is kept and written, and so is every default that follows from it. */
Test(chain, version_decides_about_defaults)
{
    static const struct {
        const char *text, *assignment, *expected;
    } cases[] = {
        {"tomostage: 1\nstages: [minus_log]\n", NULL,
         "tomostage: 1\nstages:\n  - minus_log: {nonpositive: error, "},
        {"tomostage: 2\nstages: [minus_log]\n", NULL,
         "tomostage: 2\nstages:\n  - minus_log: {nonpositive: floor, "},
        {"stages: [minus_log]\ntomostage: 1\n", NULL,
         "tomostage: 1\nstages:\n  - minus_log: {nonpositive: error, "},
        {"minus_log", NULL, "tomostage: 2\nstages:\n  - minus_log: {nonpositive: floor, "},
        {"tomostage: 1\nstages: [minus_log]\n", "minus_log.nonpositive=nan",
         "tomostage: 1\nstages:\n  - minus_log: {nonpositive: nan, "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        cr_assert_eq(ts_test_parse(cases[i].text, &chain, &diag), TS_OK, "%s",
                     ts_test_errors(diag));
        if (cases[i].assignment)
            cr_assert_eq(ts_chain_set(chain, cases[i].assignment, diag), TS_OK);
        char *text = ts_chain_canonical(chain);
        cr_expect(!strncmp(text, cases[i].expected, strlen(cases[i].expected)), "%s gives\n%s",
                  cases[i].text, text);
        free(text);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
}

Test(chain, without_stages_is_one_save)
{
    static const char *const texts[] = {"tomostage: 2\ninput: {dicom: ./study}\nstages: []\n",
                                        "dicom ./study", "dicom ./study | save"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        cr_assert_eq(ts_test_parse(texts[i], &chain, &diag), TS_OK, "%s", ts_test_errors(diag));
        cr_assert_eq(chain->n_stages, 1);
        char *text = ts_chain_canonical(chain);
        cr_expect(strstr(text, "stages:\n  - save: {}\n"), "%s gives\n%s", texts[i], text);
        free(text);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
}

/* The parameter of few other stages, or of few other formats of an input: a hint names them; of
 * none or many it does not. */
Test(chain, a_parameter_of_another_stage_is_told)
{
    static const char *const cases[][2] = {
        {"dicom ./study | cgls nonnegative=true",
         "nonnegative is a parameter of sirt; known: iterations, stop, "},
        {"dicom ./study | invert method=stack", "known: range, limits, "},
        {"dicom ./study nonnegative=true | cgls", "known: dicom, "},
        {"dicom ./study pages=slices | cgls",
         "pages is a parameter of tiff, and this input is read as dicom: the chain names the "
         "format, tiff PATH; known: "},
        {"cgls series=2", "known: iterations, "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        cr_expect_eq(ts_test_parse(cases[i][0], &chain, &diag), TS_BAD_CHAIN);
        cr_expect_eq(ts_diag_count(diag), 1);
        const struct ts_diag_record *record = ts_diag_get(diag, 0);
        cr_expect_str_eq(record->code, "unknown-parameter");
        cr_expect(record->hint && !strncmp(record->hint, cases[i][1], strlen(cases[i][1])), "%s",
                  record->hint);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
}

/* A folder of DICOM files with TIFF pages among them: the path is taken for dicom, which a hint
 * says. */
Test(chain, an_assignment_to_an_input_of_another_format_is_told)
{
    char folder[256], path[300];
    struct ts_diag *diag;
    struct ts_chain *chain;
    ts_test_folder_in_memory(folder, sizeof folder);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, i ? "a.tif" : "a.dcm");
        ts_fixture_write_bytes(path, "", 0);
    }
    cr_assert_eq(ts_test_parse("statistics", &chain, &diag), TS_OK);
    cr_assert_eq(ts_chain_set_input(chain, folder, diag), TS_OK);
    cr_assert_eq(ts_chain_set(chain, "input.pages=slices", diag), TS_BAD_CHAIN);
    const struct ts_diag_record *record = ts_diag_get(diag, 0);
    cr_expect_str_eq(record->code, "unknown-parameter");
    cr_expect(strstr(record->hint, "pages is a parameter of tiff, and this input is read as dicom"),
              "%s", record->hint);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

static const char settable[] = "tomostage: 2\n"
                               "input: {dicom: ./study}\n"
                               "inputs: {atlas: {dicom: ./atlas}}\n"
                               "stages:\n"
                               "  - box: {radius: 2, name: smooth}\n"
                               "  - box: {radius: 3}\n"
                               "  - histogram: {reference: smooth}\n"
                               "  - rescale\n"
                               "  - radon\n";

Test(chain, set_replaces_one_parameter)
{
    struct ts_diag *diag;
    struct ts_chain *chain;
    cr_assert_eq(ts_test_parse(settable, &chain, &diag), TS_OK);
    static const char *const assignments[] = {
        "box#1.radius=4",      "box#2.radius=5",    "histogram.reference=atlas",
        "rescale.clip=false",  "radon.angles=0,15", "input.series=1.2.3",
        "atlas.series=7",      "input.dicom=a b",   "radon.start=-1e-3",
        "box#2.border=mirror",
    };
    for (size_t i = 0; i < sizeof assignments / sizeof *assignments; i++)
        cr_expect_eq(ts_chain_set(chain, assignments[i], diag), TS_OK, "%s: %s", assignments[i],
                     ts_test_errors(diag));
    char *text = ts_chain_canonical(chain);
    static const char *const expected[] = {"- box: {name: smooth, radius: 4,",
                                           "- box: {radius: 5, dimensions: 2d, border: mirror",
                                           "reference: atlas, n_labels: 256}",
                                           "clip: false",
                                           "angles: [0, 15]",
                                           "input: {dicom: input, series: \"1.2.3\"",
                                           "atlas: {dicom: atlas, series: \"7\"",
                                           "start: -0.001"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        cr_expect_not_null(strstr(text, expected[i]), "'%s' is not in\n%s", expected[i], text);
    cr_expect_str_eq(((const struct ts_texts *)chain->sources[0].set.values)->items[0], "a b");
    cr_expect_eq(((const struct histogram_params *)chain->stages[2].set.values)->reference.node, 1);
    free(text);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

Test(chain, set_refuses_and_changes_nothing)
{
    static const char *const cases[][2] = {
        {"box.radius=3",
         "1:1: error: the chain has 2 stages 'box'; say which one: box#1 to box#2\n"},
        {"box#3.radius=3", "1:1: error: the chain has 2 stages 'box', no number '3'\n"},
        {"box#0.radius=3", "1:1: error: the chain has 2 stages 'box', no number '0'\n"},
        {"box#1x.radius=3", "1:1: error: the chain has 2 stages 'box', no number '1x'\n"},
        {"bax#1.radius=3", "1:1: error: unknown stage 'bax'; did you mean 'box'?\n"},
        {"box#1.radius=x", "1:14: error: box.radius: 'x' is not an integer\n"},
        {"box#1.radius=9000", "1:14: error: box.radius: 9000 is outside [0, 1024] pixel\n"},
        {"box#1.radus=3", "1:7: error: box: unknown parameter 'radus'; did you mean 'radius'?\n"},
        {"box#1.name=other", "1:7: error: box: unknown parameter 'name'\n"},
        {"histogram.reference=rescale",
         "1:21: error: histogram.reference: unknown name 'rescale'\n"},
        {"histogram.range=1,x", "1:19: error: histogram.range: 'x' is not a number\n"},
        {"input.seris=3", "1:7: error: input: unknown parameter 'seris'; did you mean 'series'?\n"},
        {"radius=3", "1:1: error: STAGE.PARAMETER=VALUE is expected\n"},
        {"box#1.radius", "1:1: error: STAGE.PARAMETER=VALUE is expected\n"},
        {".radius=3", "1:1: error: STAGE.PARAMETER=VALUE is expected\n"},
        {"box.=3", "1:1: error: STAGE.PARAMETER=VALUE is expected\n"},
        {"", "1:1: error: STAGE.PARAMETER=VALUE is expected\n"},
        {"box#1.radius=\xFF", "1:14: error: the byte 0xFF is not UTF-8 text\n"},
        {"rescale.clip=on", "1:14: error: rescale.clip: true or false is expected, found 'on'\n"},
    };
    struct ts_diag *parse_diag;
    struct ts_chain *chain;
    cr_assert_eq(ts_test_parse(settable, &chain, &parse_diag), TS_OK);
    char *before = ts_chain_canonical(chain);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag = ts_diag_create();
        cr_expect_eq(ts_chain_set(chain, cases[i][0], diag), TS_BAD_CHAIN, "%s", cases[i][0]);
        char *found = ts_test_errors(diag), *after = ts_chain_canonical(chain);
        cr_expect_str_eq(found, cases[i][1], "%s:\n%sinstead of\n%s", cases[i][0], found,
                         cases[i][1]);
        cr_expect_str_eq(after, before, "%s", cases[i][0]);
        cr_expect_eq(((const struct histogram_params *)chain->stages[2].set.values)->reference.node,
                     2);
        free(found);
        free(after);
        ts_diag_destroy(diag);
    }
    free(before);
    ts_chain_destroy(chain);
    ts_diag_destroy(parse_diag);
}

static void expect_printed(const char *text, const char *expected)
{
    struct ts_diag *diag;
    struct ts_chain *chain;
    char *printed = NULL;
    size_t length = 0;
    cr_expect_eq(ts_test_parse(text, &chain, &diag), TS_BAD_CHAIN);
    FILE *out = open_memstream(&printed, &length);
    ts_diag_print(diag, out);
    fclose(out);
    cr_expect_str_eq(printed, expected, "%sinstead of\n%s", printed, expected);
    free(printed);
    ts_diag_destroy(diag);
}

/* The program shows an error with file, place, code, source line and caret. Characters that a
 * terminal could obey are not shown as they are. */
Test(chain, errors_show_their_line)
{
    expect_printed(
        "tomostage: 2\nstages:\n  - box: { radius: 9000, border: reflect }\n",
        "text:3:20: error: box.radius: 9000 is outside [0, 1024] pixel [parameter-range]\n"
        "  3 |   - box: { radius: 9000, border: reflect }\n"
        "                         ^~~~\n");
    expect_printed(
        "tomostage: 2\nstages: [{save: {name: \"\xC3\xA4\xE2\x82\xAC\"}}]\n",
        "text:2:24: error: save.name: '\xC3\xA4\xE2\x82\xAC' is not a name [name-invalid]\n"
        "  2 | stages: [{save: {name: \"\xC3\xA4\xE2\x82\xAC\"}}]\n"
        "                             ^~~~\n"
        "  hint: a letter, then letters, digits, _ and -, at most 64 in all\n");
    expect_printed("tomostage: 2 # \xC3\xA4\xFF\x1B[1m",
                   "text:1:18: error: the byte 0xFF is not UTF-8 text [not-text]\n"
                   "  1 | tomostage: 2 # \xC3\xA4??[1m\n"
                   "                      ^\n");
    expect_printed("tomostage: 2\nstages: [{save: {name: \"a\\e\\x9b\"}}]\n",
                   "text:2:24: error: save.name: 'a\\x1B\\xC2\\x9B' is not a name [name-invalid]\n"
                   "  2 | stages: [{save: {name: \"a\\e\\x9b\"}}]\n"
                   "                             ^~~~~~~~~\n"
                   "  hint: a letter, then letters, digits, _ and -, at most 64 in all\n");
}

Test(chain, files_that_cannot_be_read_are_named)
{
    const char *const paths[] = {"/nonexistent/chain.yaml", ts_test_path("")};
    for (size_t i = 0; i < 2; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct ts_chain *chain;
        cr_expect_eq(ts_chain_load(paths[i], &chain, diag), TS_BAD_CHAIN);
        cr_assert_eq(ts_diag_count(diag), 1);
        cr_expect_not_null(strstr(ts_diag_get(diag, 0)->message, paths[i]));
        ts_diag_destroy(diag);
    }
}

/* Numbers as they are written into messages, provenance and canonical texts: the shortest that read
 * back, with a point whatever the locale. */
Test(chain, numbers_are_written_the_shortest_way)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},          {9000, "9000"},
                 {0.1, "0.1"},      {-1.5e-3, "-0.0015"},
                 {1e300, "1e+300"}, {1e14, "100000000000000"},
                 {1e15, "1e+15"},   {1.0 / 3, "0.3333333333333333"},
                 {INFINITY, "inf"}, {-INFINITY, "-inf"},
                 {1e-7, "1e-07"}};
    static const char *const locales[] = {"C", "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    for (size_t l = 0; l < sizeof locales / sizeof *locales; l++) {
        if (!setlocale(LC_ALL, locales[l]))
            continue;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            char text[40];
            double again;
            ts_real_format(cases[i].value, text, sizeof text);
            cr_expect_str_eq(text, cases[i].text, "%s: %s instead of %s", locales[l], text,
                             cases[i].text);
            cr_expect_null(ts_number_real(text, &again));
            cr_expect_eq(again, cases[i].value);
        }
    }
}

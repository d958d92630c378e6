/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lab/study/study_text.h"

#include <criterion/criterion.h>

#include "tests/support/program.h"
#include "tests/support/stage_check.h"

char *ts_test_study_tried(const struct study *study, struct study_request request,
                          enum ts_status *status, struct ts_diag *diag)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    request.runs = 1;
    if (!request.device)
        request.device = ts_test_device ? "cuda" : "cpu";
    *status = ts_study_run(study, &request, stream, diag);
    fclose(stream);
    cr_assert(*status != TS_OK || !request.json || ts_test_is_json(text, length), "%s", text);
    return text;
}

char *ts_test_study(const struct study *study, struct study_request request)
{
    struct ts_diag *diag = ts_diag_create();
    enum ts_status status;
    char *text = ts_test_study_tried(study, request, &status, diag);
    ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
    ts_diag_destroy(diag);
    return text;
}

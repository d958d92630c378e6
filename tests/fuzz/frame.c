/* SPDX-License-Identifier: Apache-2.0
 *
 * The input is one DICOM file, as a series of one slice. The decoder runs in this process and not
 * in its sandbox, so that libFuzzer sees its code.
 */
#include "tests/fuzz/frame.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/dicom/dicom.h"
#include "io/dicom_frames/dicom_decode.h"
#include "io/dicom_frames/dicom_source.h"
#include "tests/fuzz/fuzz.h"

static void decode(const struct dicom_source *source)
{
    const size_t cell_bytes = ts_dicom_cell_bytes(source);
    if (cell_bytes > FUZZ_IMAGE_MAX)
        return;
    struct dicom_job job;
    ts_dicom_job(source, 0, &job);
    struct dicom_reply reply = {0};
    struct dicom_scratch scratch;
    void *out = malloc(ts_slice_bytes(&source->base.image));
    const int fd = open(source->frames[0].image->file->path, O_RDONLY | O_CLOEXEC);
    if (ts_dicom_scratch_init(&scratch, cell_bytes) && out && fd >= 0)
        ts_dicom_frame_decode(&job, fd, &scratch, out, NULL, &reply);
    if (fd >= 0)
        close(fd);
    free(out);
    ts_dicom_scratch_clear(&scratch);
}

static void prepare(void)
{
    static bool prepared;
    char error[300];
    if (!prepared &&
        !(prepared = ts_dicom_frame_prepare() && ts_dicom_decode_init(error, sizeof error) == 0))
        abort();
}

struct source *fuzz_dicom_open(struct ts_diag *diag)
{
    struct dicom_params values = {0};
    const char *items[1] = {fuzz_folder()};
    struct param_set set = {.params = dicom_format.params,
                            .n_params = dicom_format.n_params,
                            .values = &values,
                            .owner = "input"};
    struct source *source = NULL;
    ts_params_init(&set);
    values.dicom = (struct ts_texts){1, items};
    return dicom_format.open(&set, &source, diag) == TS_OK ? source : NULL;
}

void fuzz_frame(const uint8_t *data, size_t bytes, bool by_library)
{
    char path[FUZZ_PATH];
    prepare();
    fuzz_write("fuzz.dcm", data, bytes, path);
    struct ts_diag *diag = ts_diag_create();
    struct source *source = fuzz_dicom_open(diag);
    if (source) {
        const struct dicom_source *dicom = (const struct dicom_source *)source;
        if ((dicom->frames[0].image->file->syntax >= DICOM_JPEG_2000) == by_library)
            decode(dicom);
        source->ops->close(source);
    }
    ts_diag_destroy(diag);
}

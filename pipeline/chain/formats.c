/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the list of the source formats, by which the name in a chain finds its format. A new
 * format is one line here; everything else about it is in the table that its own file defines, so
 * that no other code names it.
 */
#include "pipeline/chain/formats.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "io/dicom/dicom.h"
#include "io/mask/mask.h"
#include "io/scan/exchange.h"
#include "io/scan/hdf5_source.h"
#include "io/scan/nexus.h"
#include "io/scan/result.h"
#include "io/scan/tiff.h"
#include "io/source/memory.h"
#include "io/volume/mha.h"
#include "io/volume/nifti.h"
#include "io/volume/npy.h"
#include "io/volume/nrrd.h"

const struct source_format *const ts_source_formats[] = {
    &dicom_format, &nexus_format, &exchange_format, &hdf5_format, &result_format, &tiff_format,
    &nifti_format, &nrrd_format,  &mha_format,      &npy_format,  &mask_format,   &memory_format,
    NULL};

const struct source_format *ts_source_format_find(const char *name)
{
    for (size_t i = 0; ts_source_formats[i] != NULL; i++)
        if (strcmp(ts_source_formats[i]->name, name) == 0)
            return ts_source_formats[i];
    return NULL;
}

const char *ts_source_format_of_path(const char *path)
{
    static const struct {
        const char *ending, *format;
    } endings[] = {{".nii", "nifti"},   {".nii.gz", "nifti"}, {".nrrd", "nrrd"}, {".nhdr", "nrrd"},
                   {".mha", "mha"},     {".mhd", "mha"},      {".tif", "tiff"},  {".tiff", "tiff"},
                   {".npy", "npy"},     {".dcm", "dicom"},    {".ima", "dicom"}, {".h5", "result"},
                   {".hdf5", "result"}, {".nxs", "nexus"},    {".nx", "nexus"}};
    const size_t length = strlen(path);
    struct stat status;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t n = strlen(endings[i].ending);
        if (length > n && strcasecmp(path + length - n, endings[i].ending) == 0)
            return endings[i].format;
    }
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) ? "dicom" : NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Libraries are asked for the loaded version, since a package update may have replaced the one that
 * was compiled against.
 */
#include "pipeline/run/versions.h"

#include <libdeflate.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <yaml.h>
#include <zlib.h>

#include "core/fft.h"
#include "cuda/device/device.h"
#include "include/tomostage.h"
#include "io/dicom_frames/dicom_decode.h"
#include "io/dicom_frames/dicom_jpeg_2000.h"
#include "io/file/zlib_stream.h"
#include "io/hdf5/hdf5_error.h"

static void versions_add(struct version *versions, int *n, const char *name, const char *text)
{
    versions[*n].name = name;
    snprintf(versions[*n].text, sizeof versions[*n].text, "%s", text);
    ++*n;
}

int ts_versions(struct version versions[VERSIONS_MAX])
{
    int n = 0;
    char text[64];
    unsigned major = 0, minor = 0, release = 0;
    versions_add(versions, &n, "tomostage", ts_version());
    versions_add(versions, &n, "compiler", __VERSION__);
    ts_hdf5_enter();
    H5get_libversion(&major, &minor, &release);
    ts_hdf5_leave();
    snprintf(text, sizeof text, "%u.%u.%u", major, minor, release);
    versions_add(versions, &n, "HDF5", text);
    versions_add(versions, &n, "DCMTK", ts_dicom_decode_version());
    versions_add(versions, &n, "libyaml", yaml_get_version_string());
    versions_add(versions, &n, "OpenSSL", OpenSSL_version(OPENSSL_VERSION_STRING));
    versions_add(versions, &n, "libdeflate", LIBDEFLATE_VERSION_STRING);
    versions_add(versions, &n, "ISA-L", ts_zlib_isal_version() ? ts_zlib_isal_version() : "none");
    versions_add(versions, &n, "zlib", zlibVersion());
    versions_add(versions, &n, "OpenJPEG", ts_dicom_jpeg_2000_version());
    versions_add(versions, &n, "FFT", ts_fft_library());
    const int cufft = ts_cuda_fft_version();
    if (cufft > 0) {
        snprintf(text, sizeof text, "%d.%d.%d", cufft / 1000, cufft % 1000 / 100, cufft % 100);
        versions_add(versions, &n, "cuFFT", text);
    }
    snprintf(text, sizeof text, "%d (year and month of the standard)", _OPENMP);
    versions_add(versions, &n, "OpenMP", text);
    return n;
}

void ts_version_field(const struct version *version, char name[64])
{
    snprintf(name, 64, "%s", version->name);
    for (char *c = name; *c; c++)
        *c = (char)(*c == '-' ? '_' : *c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
}

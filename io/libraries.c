/* SPDX-License-Identifier: Apache-2.0 */
#include "io/libraries.h"

#include <hdf5.h>
#include <libdeflate.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <yaml.h>

#include "io/dicom_decode.h"

void ts_libraries(struct library libraries[LIBRARIES])
{
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    libraries[0] = (struct library){.name = "DCMTK"};
    snprintf(libraries[0].version, sizeof libraries[0].version, "%s", ts_dicom_decode_version());
    libraries[1] = (struct library){.name = "HDF5"};
    snprintf(libraries[1].version, sizeof libraries[1].version, "%u.%u.%u", major, minor, release);
    libraries[2] = (struct library){.name = "libyaml"};
    snprintf(libraries[2].version, sizeof libraries[2].version, "%s", yaml_get_version_string());
    libraries[3] = (struct library){.name = "libdeflate", .version = LIBDEFLATE_VERSION_STRING};
    libraries[4] = (struct library){.name = "OpenSSL"};
    snprintf(libraries[4].version, sizeof libraries[4].version, "%s", OpenSSL_version(OPENSSL_VERSION_STRING));
}

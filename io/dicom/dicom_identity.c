/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the key by which UIDs are replaced and dates are moved. Only the user may be able to
 * read its file, because whoever has the key can try all UIDs of an archive and all numbers of
 * its patients. All bytes of the file are the key.
 */
#include "io/dicom/dicom_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

enum { SUM_BYTES = 32, UID_BYTES = 16, DAY_BYTES = 8, SECONDS_OF_DAY = 86400 };

const struct choice ts_dicom_deidentify_choices[] = {
    {"basic", DEIDENTIFY_BASIC,
     "no text that people write, no UID and no date, unless a key replaces it"},
    {"keep", DEIDENTIFY_KEEP,
     "the series description, UIDs and dates are recorded as they are, and contains_phi with them"},
    {0},
};

static enum ts_status dicom_identity_refuse(const struct param_set *set, const char *code,
                                            const char *reason, struct ts_diag *diag)
{
    ts_param_error(set, "uid_key_file", code, diag, "%s", reason);
    return ts_diag_hint(diag, "make a key with: (umask 077; head -c 32 /dev/urandom > KEY)");
}

/* Reads the open file, which must be the user's own and nobody else's. */
static enum ts_status read_key(const struct param_set *set, int fd, struct dicom_identity *identity,
                               struct ts_diag *diag)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return dicom_identity_refuse(set, "uid-key-open", "the key is no regular file", diag);
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0 || status.st_uid != geteuid())
        return dicom_identity_refuse(set, "uid-key-open",
                                     "others than its owner may use the key: its mode must be 0600",
                                     diag);
    unsigned char bytes[DICOM_KEY_MAX + 1];
    const ssize_t n = pread(fd, bytes, sizeof bytes, 0); /* a regular file gives all at once */
    if (n < 0)
        return dicom_identity_refuse(set, "uid-key-open", strerror(errno), diag);
    if (n < DICOM_KEY_MIN || n > DICOM_KEY_MAX)
        return dicom_identity_refuse(set, "uid-key-length",
                                     "the key has fewer than 16 or more than 4096 bytes", diag);
    memcpy(identity->key, bytes, (size_t)n);
    identity->key_bytes = (size_t)n;
    return TS_OK;
}

enum ts_status ts_dicom_identity_read(const struct param_set *set, int32_t deidentify,
                                      const char *uid_key_file, struct dicom_identity *identity,
                                      struct ts_diag *diag)
{
    identity->keep = deidentify == DEIDENTIFY_KEEP;
    identity->key_bytes = 0;
    if (!uid_key_file || !*uid_key_file)
        return TS_OK;
    if (identity->keep)
        return ts_param_error(set, "uid_key_file", "parameter-unused", diag,
                              "deidentify: keep replaces no UID, so that a key has no use");
    const int fd = open(uid_key_file, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return dicom_identity_refuse(set, "uid-key-open", strerror(errno), diag);
    const enum ts_status status = read_key(set, fd, identity, diag);
    close(fd);
    return status;
}

static bool compute_hmac(const struct dicom_identity *identity, const char *text,
                         unsigned char sum[SUM_BYTES])
{
    unsigned int length = 0;
    return HMAC(EVP_sha256(), identity->key, (int)identity->key_bytes, (const unsigned char *)text,
                strlen(text), sum, &length) &&
           length == SUM_BYTES;
}

bool ts_dicom_replace_uid(const struct dicom_identity *identity, const char *uid,
                          char out[DICOM_UID_MAX])
{
    unsigned char sum[SUM_BYTES];
    char digits[40]; /* 2^128 has 39 */
    int n = 0;
    if (!compute_hmac(identity, uid, sum))
        return false;
    for (bool any = true; any; n++) { /* divide by ten until nothing is left */
        unsigned rest = 0;
        any = false;
        for (int i = 0; i < UID_BYTES; i++) {
            rest = rest << 8 | sum[i];
            sum[i] = (unsigned char)(rest / 10);
            any |= sum[i] != 0;
            rest %= 10;
        }
        digits[n] = (char)('0' + rest);
    }
    size_t at = (size_t)snprintf(out, DICOM_UID_MAX, "2.25.");
    while (n > 0)
        out[at++] = digits[--n];
    out[at] = '\0';
    return true;
}

bool ts_dicom_is_replaced_uid(const char *text)
{
    return !strncmp(text, "2.25.", 5) && strlen(text) < DICOM_UID_MAX && text[5] &&
           !text[5 + strspn(text + 5, "0123456789")];
}

bool ts_dicom_is_date(const char *text)
{
    return strlen(text) == DICOM_DATE_BYTES - 1 &&
           strspn(text, "0123456789") == DICOM_DATE_BYTES - 1;
}

bool ts_dicom_move_date(const struct dicom_identity *identity, const char *patient,
                        const char *date, char out[DICOM_DATE_BYTES])
{
    unsigned char sum[SUM_BYTES];
    uint64_t number = 0;
    struct tm day = {0};
    int end = 0;
    if (sscanf(date, "%4d%2d%2d%n", &day.tm_year, &day.tm_mon, &day.tm_mday, &end) != 3 ||
        end != 8 || date[8] || !compute_hmac(identity, patient, sum))
        return false;
    for (int i = 0; i < DAY_BYTES; i++)
        number = number << 8 | sum[i];
    day.tm_year -= 1900;
    day.tm_mon--;
    const time_t moved = timegm(&day) - (time_t)(1 + number % DICOM_DAYS_MAX) * SECONDS_OF_DAY;
    return gmtime_r(&moved, &day) &&
           strftime(out, DICOM_DATE_BYTES, "%Y%m%d", &day) == DICOM_DATE_BYTES - 1;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * This decides what a result holds of texts, UIDs and dates that lead to a person. By default it
 * holds none. With a key, UIDs are replaced and dates are moved, so that results of one patient go
 * together for whoever has the key, and for no one else. With `deidentify: keep` they stay, and the
 * result says so. Source: DICOM PS3.15, Annex E; RFC 2104 (HMAC); PS3.5, B.2 (UIDs below 2.25).
 */
#ifndef IO_DICOM_DICOM_IDENTITY_H
#define IO_DICOM_DICOM_IDENTITY_H

#include "core/params.h"
#include "io/dicom_header/dicom_file.h"

/* A result states this method of de-identification unless the identity is kept. */
#define DICOM_DEIDENTIFIED "tomostage: nothing but an allow-list of attributes is recorded"

enum dicom_deidentify { DEIDENTIFY_BASIC, DEIDENTIFY_KEEP };

enum { DICOM_KEY_MIN = 16, DICOM_KEY_MAX = 4096, DICOM_DATE_BYTES = 9, DICOM_DAYS_MAX = 3650 };

struct dicom_identity {
    bool keep;
    size_t key_bytes; /* 0: there is no key */
    unsigned char key[DICOM_KEY_MAX];
};

extern const struct choice ts_dicom_deidentify_choices[];

/* Reads the parameters `deidentify` and `uid_key_file` of the set. TS_BAD_CHAIN or TS_BAD_INPUT,
 * reported: the file cannot be read, others may read it (uid-key-open), or it holds too few or too
 * many bytes for a key (uid-key-length); a key beside `keep` (parameter-unused). No message names
 * the file. */
enum ts_status ts_dicom_identity_read(const struct param_set *set, int32_t deidentify,
                                      const char *uid_key_file, struct dicom_identity *identity,
                                      struct ts_diag *diag);
/* Writes the UID that replaces this one: "2.25." and the first 128 bits of HMAC-SHA256(key, uid) as
 * a decimal number. Returns false if the crypto library fails. */
bool ts_dicom_replace_uid(const struct dicom_identity *identity, const char *uid,
                          char out[DICOM_UID_MAX]);
/* Return true if the text has the form of a UID that such a number replaced, and of a date
 * (YYYYMMDD). */
bool ts_dicom_is_replaced_uid(const char *text);
bool ts_dicom_is_date(const char *text);
/* Writes the date (YYYYMMDD) moved back by 1 to DICOM_DAYS_MAX days: one more than the first 64
 * bits of HMAC-SHA256(key, patient), modulo DICOM_DAYS_MAX. Returns false if the date is none. */
bool ts_dicom_move_date(const struct dicom_identity *identity, const char *patient,
                        const char *date, char out[DICOM_DATE_BYTES]);

#endif

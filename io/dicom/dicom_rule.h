/* SPDX-License-Identifier: Apache-2.0
 *
 * A rule chooses a series by what its header says, "modality=CT; description=*T1*", so that one
 * chain fits many studies. A pattern with * or ? by itself is one of the description.
 */
#ifndef IO_DICOM_DICOM_RULE_H
#define IO_DICOM_DICOM_RULE_H

#include "io/dicom_series/dicom_series.h"

/* Returns true if the text is a rule, and not the name of one of the series. */
bool ts_dicom_is_rule(const char *text, const struct dicom_series *series, size_t n);
/* Marks the series that do not fit the rule as left out. TS_BAD_CHAIN: the rule is malformed or
   names what no header says (series-rule); TS_BAD_INPUT: no series fits it (series-unknown). */
enum ts_status ts_dicom_apply_rule(const char *rule, struct dicom_series *series, size_t n,
                                   struct arena *arena, struct ts_diag *diag);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_SCAN_NEXUS_FACTS_H
#define IO_SCAN_NEXUS_FACTS_H

#include "io/scan/nexus_fields.h"

/* Notes how the frames were exposed, what the beam was, and which way the detector lies, for the
   plan to compare with frames of other files. */
enum ts_status ts_nexus_facts(const struct nexus_places *places);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What a fleet does with the devices of its rank, of which there may be one: see struct run_fleet
 * in pipeline/run/run.h.
 */
#ifndef PIPELINE_FLEET_DEVICES_H
#define PIPELINE_FLEET_DEVICES_H

#include "pipeline/run/run.h"

enum ts_status ts_devices_use(struct run *run, int device);
enum ts_status ts_devices_call(struct run *run, enum ts_status (*call)(struct run *run));
void ts_devices_free(struct run *run);
enum ts_status ts_devices_bring_total(struct run *run, int32_t node, int input);
bool ts_devices_have_refused(const struct run *run, int32_t node);
enum ts_status ts_devices_refuse(struct run *run, int32_t node);
enum ts_status ts_devices_finish_reduction(struct run *run, int32_t node);
enum ts_status ts_devices_renew(struct run *run, int32_t node);
enum ts_status ts_devices_join_tables(struct run *run);
enum ts_status ts_devices_fetch_saved(struct run *run, int32_t node, void *bits, size_t bytes);

#endif

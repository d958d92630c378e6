/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams and graphs of a caller's own, as a program that uses CUDA has them.
 */
#ifndef TESTS_SUPPORT_GRAPH_H
#define TESTS_SUPPORT_GRAPH_H

#include <stdbool.h>

struct CUstream_st;
struct CUgraphExec_st;

struct CUstream_st *ts_test_stream_create(void);
void ts_test_stream_destroy(struct CUstream_st *stream);
/* Waits for what is enqueued there; false if that failed. */
bool ts_test_stream_wait(struct CUstream_st *stream);
/* Captures what is enqueued on the stream between the two, in the strictest mode. The second
 * returns NULL if the capture was broken. */
void ts_test_graph_begin(struct CUstream_st *stream);
struct CUgraphExec_st *ts_test_graph_end(struct CUstream_st *stream);
/* Launches the graph there and waits. */
bool ts_test_graph_launch(struct CUgraphExec_st *graph, struct CUstream_st *stream);
void ts_test_graph_destroy(struct CUgraphExec_st *graph);

#endif

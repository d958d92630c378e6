/* SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime.h>

extern "C" {
#include "tests/support/graph.h"
}

struct CUstream_st *ts_test_stream_create(void)
{
    cudaStream_t stream = NULL;
    return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess ? stream : NULL;
}

void ts_test_stream_destroy(struct CUstream_st *stream)
{
    cudaStreamDestroy(stream);
}

bool ts_test_stream_wait(struct CUstream_st *stream)
{
    return cudaStreamSynchronize(stream) == cudaSuccess;
}

void ts_test_graph_begin(struct CUstream_st *stream)
{
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
}

struct CUgraphExec_st *ts_test_graph_end(struct CUstream_st *stream)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t ready = NULL;
    if (cudaStreamEndCapture(stream, &graph) != cudaSuccess || !graph) {
        cudaGetLastError();
        return NULL;
    }
    if (cudaGraphInstantiate(&ready, graph, 0) != cudaSuccess)
        ready = NULL;
    cudaGraphDestroy(graph);
    return ready;
}

bool ts_test_graph_launch(struct CUgraphExec_st *graph, struct CUstream_st *stream)
{
    return cudaGraphLaunch(graph, stream) == cudaSuccess && ts_test_stream_wait(stream);
}

void ts_test_graph_destroy(struct CUgraphExec_st *graph)
{
    cudaGraphExecDestroy(graph);
}

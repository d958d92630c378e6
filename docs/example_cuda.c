/* SPDX-License-Identifier: Apache-2.0
 *
 * An operator on a CUDA device, with memory and a stream of the program's own: A' A is captured in
 * a graph once, and power iterations launch it to find the norm of a projection A.
 *     cc example_cuda.c $(pkg-config --cflags --libs tomostage) -I/usr/local/cuda/include \
 *         -L/usr/local/cuda/lib64 -lcudart -lm -o norm && ./norm
 */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <tomostage_operator.h>

enum { N = 64, SLICES = 4, PIXELS = SLICES * N * N, ITERATIONS = 40 };

/* Ends the program where CUDA reports an error. */
static void need(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    exit(1);
}

/* Captures A' A from x to y in a graph. */
static cudaGraphExec_t capture(struct ts_operator *op, const struct ts_array *x,
                               const struct ts_array *y, cudaStream_t stream, struct ts_diag *diag)
{
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    need(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    if (ts_operator_normal(op, x, y, stream, diag) != TS_OK) {
        ts_diag_print(diag, stderr);
        exit(1);
    }
    need(cudaStreamEndCapture(stream, &graph));
    need(cudaGraphInstantiate(&ready, graph, 0));
    need(cudaGraphDestroy(graph));
    return ready;
}

int main(void)
{
    static float values[PIXELS];
    struct ts_image slices = {.rank = 3, .dtype = TS_F32, .quantity = TS_INTENSITY, .unit = "1"};
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct ts_operator *op = NULL;
    struct ts_diag *diag = ts_diag_create();
    struct ts_array x = {.size = sizeof x, .dtype = TS_F32, .rank = 3, .n = {SLICES, N, N}}, y = x;
    cudaStream_t stream;
    double norm = 0;
    for (int d = 0; d < 3; d++)
        slices.axes[d] = (struct ts_axis){
            .kind = TS_AXIS_Z + (enum ts_axis_kind)d, .n = x.n[d], .spacing = 1, .unit = "mm"};
    options.device = "cuda:0";
    if (ts_operator_create("radon views=90", &slices, &options, &op, diag) != TS_OK) {
        ts_diag_print(diag, stderr);
        return 1;
    }
    need(cudaStreamCreate(&stream));
    need(cudaMalloc(&x.data, sizeof values));
    need(cudaMalloc(&y.data, sizeof values));
    cudaGraphExec_t normal = capture(op, &x, &y, stream, diag);
    for (int i = 0; i < PIXELS; i++)
        values[i] = 1;
    for (int i = 0; i < ITERATIONS; i++) {
        double square = 0;
        for (int k = 0; k < PIXELS; k++)
            square += (double)values[k] * values[k];
        norm = sqrt(sqrt(square)); /* of A' A x, where x had norm 1: the square of that of A */
        for (int k = 0; k < PIXELS; k++)
            values[k] /= (float)sqrt(square);
        need(cudaMemcpyAsync(x.data, values, sizeof values, cudaMemcpyHostToDevice, stream));
        need(cudaGraphLaunch(normal, stream));
        need(cudaMemcpyAsync(values, y.data, sizeof values, cudaMemcpyDeviceToHost, stream));
        need(cudaStreamSynchronize(stream));
    }
    printf("the norm of the projection is %.1f\n", norm);
    need(cudaGraphExecDestroy(normal));
    ts_operator_destroy(op);
    ts_diag_destroy(diag);
    need(cudaFree(x.data));
    need(cudaFree(y.data));
    need(cudaStreamDestroy(stream));
    return 0;
}

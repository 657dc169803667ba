/* The trace ABI: how a trace producer talks to TOGSim.
 *
 * A producer is host code that replays a kernel's loops. It exports
 *     int32_t togsim_abi_version(void);
 *     void    togsim_kernel(togsim_context* ctx, const int64_t* shape_args, int32_t n);
 * and calls back through the table at the start of the context, so that it needs no symbol of the simulator (a producer
 * may be JIT compiled in the same process or loaded from a shared object). All pointers are read before the call returns.
 * A call that breaks a rule does not return: the simulator leaves the producer with longjmp.
 */
#ifndef TOGSIM_RUNTIME_H
#define TOGSIM_RUNTIME_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define TOGSIM_ABI_VERSION 13

typedef struct togsim_context togsim_context;

/* Bytes of one scratchpad buffer, per lane: [begin, begin + length) of buffer `buffer`; arena_offset is where the buffer
 * lies in the scratchpad. Buffer TOGSIM_SA_WEIGHTS is virtual: written by preloads, read by matmuls, no bytes. */
typedef struct togsim_range {
  int64_t buffer;
  int64_t arena_offset;
  int64_t begin;
  int64_t length;
} togsim_range;
#define TOGSIM_SA_WEIGHTS (-1)

enum { TOGSIM_LOAD = 0, TOGSIM_STORE = 1 };
enum { TOGSIM_VECTOR = 0, TOGSIM_MATMUL = 1, TOGSIM_PRELOAD = 2 };

/* TOGSIM_CALL_FORMATS begin */
typedef void (*togsim_tile_fn)(togsim_context* ctx, const int64_t* iv, int32_t n_iv);
typedef struct togsim_api {
  int32_t abi_version;
  int32_t reserved;
  /* One tile transfer. element_offset: of tile position 0 from the tensor's base (may be negative); dims, strides (elements),
   * low, high: ndim entries each, dimension 0 outermost; tag: slot under which an asynchronous transfer completes. */
  void (*dma)(togsim_context* ctx, int32_t direction, int32_t arg_id, int64_t element_offset, int32_t ndim, const int64_t* dims,
              const int64_t* strides, const int64_t* low, const int64_t* high, int32_t element_bits, int32_t is_async, int64_t tag,
              const togsim_range* reads, int32_t n_reads, const togsim_range* writes, int32_t n_writes);
  /* One compute block. block_id indexes the cycle table. */
  void (*compute)(togsim_context* ctx, int64_t block_id, int32_t compute_type, const togsim_range* reads, int32_t n_reads,
                  const togsim_range* writes, int32_t n_writes);
  /* Wait for the `count` oldest asynchronous transfers of a tag slot. */
  void (*memory_barrier)(togsim_context* ctx, int64_t tag, int64_t count);
  /* Hand over one work-item; the simulator calls `tile` when it admits the work-item. */
  void (*dispatch)(togsim_context* ctx, togsim_tile_fn tile, const int64_t* iv, int32_t n_iv);
} togsim_api;
/* TOGSIM_CALL_FORMATS end */

struct togsim_context {
  const togsim_api* api;
};

#ifdef __cplusplus
}
#endif
#endif

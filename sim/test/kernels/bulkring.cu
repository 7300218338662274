// A stream of 1 KiB pieces through a ring of three buffers: bulk copies in, each
// piece scaled in place, bulk copies out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hopper.h"
extern "C" __global__ void bulkring(const float *x, float *y, int pieces) {
  __shared__ __align__(128) float s[3][256];
  __shared__ uint64_t full[3];
  int t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < 3; i++)
      barrierInit(&full[i], 1);
    fenceAsync();
    for (int i = 0; i < 2 && i < pieces; i++) {
      barrierExpect(&full[i], 1024);
      bulkLoad(s[i], x + 256 * i, 1024, &full[i]);
    }
  }
  __syncthreads();
  for (int i = 0; i < pieces; i++) {
    int stage = i % 3;
    barrierWait(&full[stage], i / 3 & 1);
    s[stage][t] = 2.f * s[stage][t] + 1.f;
    fenceAsync();
    __syncthreads();
    if (t == 0) {
      bulkStore(y + 256 * i, s[stage], 1024);
      bulkCommit();
      // The buffer of the next piece but one was stored a round ago.
      asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
      if (i + 2 < pieces) {
        int next = (i + 2) % 3;
        barrierExpect(&full[next], 1024);
        bulkLoad(s[next], x + 256 * (i + 2), 1024, &full[next]);
      }
    }
    __syncthreads();
  }
  if (t == 0)
    bulkWait();
}

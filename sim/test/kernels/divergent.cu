// Loops of different length in each lane, switches, early returns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
extern "C" __global__ void divergent(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int v = x[i], steps = 0;
  while (v != 1 && steps < 200) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    steps++;
  }
  switch (steps % 7) {
  case 0: steps += 100; break;
  case 1: steps *= 3; break;
  case 2: steps -= 7; break;
  case 3: steps ^= 0x55; break;
  case 4: steps = steps * steps; break;
  case 5:
    if (steps > 50) {
      y[i] = -1;
      return;
    }
    steps++;
    break;
  default: steps = ~steps;
  }
  y[i] = steps + __popc(__ballot_sync(__activemask(), steps & 1)) * 0;
}

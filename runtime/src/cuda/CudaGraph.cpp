//===- CudaGraph.cpp - the commands of a call as one CUDA graph -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cuda/CudaGraph.h"

namespace tdsrt {

CudaGraph::CudaGraph(const CudaDriver &driver, CUcontext context)
    : driver(driver), context(context) {
  driver.check(driver.call.graphCreate(&graph, 0), "creating a graph");
}

CudaGraph::~CudaGraph() {
  if (executable)
    driver.call.graphExecDestroy(executable);
  if (graph)
    driver.call.graphDestroy(graph);
}

static CudaCopyNode::Side sideOf(const CudaPlace &place, uint64_t bytes) {
  CudaCopyNode::Side side{};
  side.type = place.host ? memoryHost : memoryDevice;
  side.host = place.host;
  side.device = place.device;
  side.pitch = bytes;
  side.height = 1;
  return side;
}

static CudaCopyNode copyOf(const CudaPlace &to, const CudaPlace &from,
                           uint64_t bytes) {
  return {sideOf(from, bytes), sideOf(to, bytes), bytes, 1, 1};
}

void CudaGraph::addKernel(const CudaKernelNode &kernel,
                          const std::string &what) {
  CUgraphNode node = nullptr;
  driver.check(
      driver.call.graphAddKernel(&node, graph, &last, dependencies(), &kernel),
      what);
  last = node;
}

CUgraphNode CudaGraph::addCopy(const CudaPlace &to, const CudaPlace &from,
                               uint64_t bytes) {
  CudaCopyNode copy = copyOf(to, from, bytes);
  CUgraphNode node = nullptr;
  driver.check(driver.call.graphAddCopy(&node, graph, &last, dependencies(),
                                        &copy, context),
               "adding a copy to a graph");
  last = node;
  return node;
}

void CudaGraph::addFill(CUdeviceptr to, uint8_t byte, uint64_t bytes) {
  CudaFillNode fill{to, bytes, byte, 1, bytes, 1};
  CUgraphNode node = nullptr;
  driver.check(driver.call.graphAddFill(&node, graph, &last, dependencies(),
                                        &fill, context),
               "adding a fill to a graph");
  last = node;
}

void CudaGraph::finish() {
  driver.check(driver.call.graphInstantiate(&executable, graph, 0),
               "instantiating a graph");
}

void CudaGraph::setCopy(CUgraphNode node, const CudaPlace &to,
                        const CudaPlace &from, uint64_t bytes) {
  CudaCopyNode copy = copyOf(to, from, bytes);
  driver.check(driver.call.graphExecSetCopy(executable, node, &copy, context),
               "changing a copy of a graph");
}

void CudaGraph::launch(CUstream stream, const std::string &what) {
  driver.check(driver.call.graphLaunch(executable, stream), what);
}

} // namespace tdsrt

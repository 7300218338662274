//===- GraphApi.cpp - stream capture and graphs -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph launch is one piece of work on its stream. Its nodes run one after
// the other in an order that their edges allow: the order of creation, or
// under a reverse or random schedule another one, so that a missing edge
// shows.
//
//===----------------------------------------------------------------------===//

#include "driver/Driver.h"

#include <algorithm>
#include <cstring>

using namespace tds::sim;

namespace tds::sim {

NodeState *addNode(Entry &entry, GraphState &graph, CUgraphNodeType type,
                   const std::vector<NodeState *> &dependencies) {
  auto node = std::make_unique<NodeState>();
  NodeState *n = node.get();
  n->graph = &graph;
  n->type = type;
  n->dependencies = dependencies;
  n->index = (u32)graph.nodes.size();
  memset(&n->copy, 0, sizeof n->copy);
  memset(&n->set, 0, sizeof n->set);
  memset(&n->host, 0, sizeof n->host);
  graph.nodes.push_back(std::move(node));
  entry.driver.nodes.insert(n);
  return n;
}

NodeState *captureNode(Entry &entry, Stream &stream, CUgraphNodeType type) {
  if (stream.captureInvalid)
    return nullptr;
  NodeState *n = addNode(entry, *stream.capture, type, stream.captureTail);
  stream.captureTail.assign(1, n);
  return n;
}

namespace {

GraphState *graphOf(Entry &entry, CUgraph g) {
  auto *s = (GraphState *)g;
  return entry.driver.graphs.count(s) ? s : nullptr;
}
NodeState *nodeOf(Entry &entry, CUgraphNode n) {
  auto *s = (NodeState *)n;
  return entry.driver.nodes.count(s) ? s : nullptr;
}

#define TDS_GRAPH(var, handle)                                                 \
  GraphState *var = graphOf(entry, handle);                                    \
  if (!var)                                                                    \
  return CUDA_ERROR_INVALID_VALUE
#define TDS_NODE(var, handle)                                                  \
  NodeState *var = nodeOf(entry, handle);                                      \
  if (!var)                                                                    \
  return CUDA_ERROR_INVALID_VALUE

void destroyGraph(Driver &driver, GraphState *graph) {
  for (auto &n : graph->nodes) {
    driver.nodes.erase(n.get());
    if (n->child) {
      GraphState *child = n->child;
      driver.graphs.erase(child);
      destroyGraph(driver, child);
    }
  }
  driver.graphs.erase(graph);
  delete graph;
}

/// A deep copy; `map` tells the copy of each node.
GraphState *cloneGraph(Driver &driver, const GraphState &graph,
                       std::map<NodeState *, NodeState *> *map) {
  auto *copy = new GraphState;
  std::map<const NodeState *, NodeState *> local;
  for (const auto &n : graph.nodes) {
    auto c = std::make_unique<NodeState>();
    c->graph = copy;
    c->type = n->type;
    c->kernel = n->kernel;
    c->copy = n->copy;
    c->set = n->set;
    c->host = n->host;
    c->event = n->event;
    c->index = n->index;
    if (n->child) {
      c->child = cloneGraph(driver, *n->child, nullptr);
      c->child->isChild = true;
    }
    local[n.get()] = c.get();
    if (map)
      (*map)[n.get()] = c.get();
    copy->nodes.push_back(std::move(c));
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (NodeState *d : graph.nodes[i]->dependencies)
      copy->nodes[i]->dependencies.push_back(local.at(d));
  return copy;
}

/// The nodes in an order that the edges allow; empty if they form a cycle.
bool sortNodes(const GraphState &graph, const Settings &set, u64 seed,
               std::vector<NodeState *> &out) {
  std::map<const NodeState *, size_t> missing;
  std::map<const NodeState *, std::vector<NodeState *>> next;
  std::vector<NodeState *> ready;
  for (const auto &n : graph.nodes) {
    missing[n.get()] = n->dependencies.size();
    for (NodeState *d : n->dependencies)
      next[d].push_back(n.get());
    if (n->dependencies.empty())
      ready.push_back(n.get());
  }
  u64 rng = seed * 2 + 1;
  while (!ready.empty()) {
    auto at = ready.begin();
    auto byIndex = [](NodeState *a, NodeState *b) {
      return a->index < b->index;
    };
    if (!set.delays) {
      at = std::min_element(ready.begin(), ready.end(), byIndex);
    } else if (set.schedule.order == Schedule::Reverse) {
      at = std::max_element(ready.begin(), ready.end(), byIndex);
    } else {
      rng = rng * 6364136223846793005ull + 1442695040888963407ull;
      at = ready.begin() + (long)((rng >> 33) % ready.size());
    }
    NodeState *n = *at;
    ready.erase(at);
    out.push_back(n);
    for (NodeState *m : next[n])
      if (--missing[m] == 0)
        ready.push_back(m);
  }
  return out.size() == graph.nodes.size();
}

/// What a node does, with its values taken now.
void planNodes(Driver &driver, const GraphState &graph, u64 seed,
               std::vector<std::function<CUresult()>> &steps) {
  std::vector<NodeState *> order;
  sortNodes(graph, driver.settings(), seed, order);
  for (NodeState *n : order) {
    switch (n->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      steps.push_back([&driver, k = n->kernel] { return driver.execute(k); });
      break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      steps.push_back(
          [&driver, c = n->copy] { return performCopy(driver, c); });
      break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      steps.push_back([&driver, p = n->set] { return performSet(driver, p); });
      break;
    case CU_GRAPH_NODE_TYPE_HOST:
      steps.push_back([h = n->host] {
        h.fn(h.userData);
        return CUDA_SUCCESS;
      });
      break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      planNodes(driver, *n->child, seed, steps);
      break;
    default:
      break;
    }
  }
}

CUresult instantiate(CUgraphExec *out, CUgraph handle) {
  TDS_ENTER(true);
  TDS_GRAPH(graph, handle);
  if (!out)
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<NodeState *> order;
  if (!sortNodes(*graph, entry.driver.settings(), 1, order))
    return CUDA_ERROR_INVALID_VALUE;
  auto *exec = new GraphExecState;
  exec->context = entry.context;
  exec->graph.reset(cloneGraph(entry.driver, *graph, &exec->fromOriginal));
  entry.driver.graphExecs.insert(exec);
  *out = (CUgraphExec)exec;
  return CUDA_SUCCESS;
}

bool takeDependencies(Entry &entry, GraphState &graph,
                      const CUgraphNode *dependencies, size_t count,
                      std::vector<NodeState *> &out) {
  if (count && !dependencies)
    return false;
  for (size_t i = 0; i < count; ++i) {
    NodeState *n = nodeOf(entry, dependencies[i]);
    if (!n || n->graph != &graph)
      return false;
    out.push_back(n);
  }
  return true;
}

CUresult kernelOfParams(Entry &entry, const CUDA_KERNEL_NODE_PARAMS &p,
                        KernelLaunch &out) {
  const unsigned grid[3] = {p.gridDimX, p.gridDimY, p.gridDimZ};
  const unsigned block[3] = {p.blockDimX, p.blockDimY, p.blockDimZ};
  return makeLaunch(entry, p.func, grid, block, p.sharedMemBytes,
                    p.kernelParams, p.extra, out);
}

/// The node of an executable graph that stands for a node of its template.
NodeState *execNode(GraphExecState *exec, NodeState *node) {
  auto it = exec->fromOriginal.find(node);
  return it == exec->fromOriginal.end() ? nullptr : it->second;
}

} // namespace
} // namespace tds::sim

TDS_API cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  TDS_ENTER(true);
  Stream *s = streamFromHandle(entry, handle);
  if (!s)
    return CUDA_ERROR_INVALID_HANDLE;
  if (s->isLegacy)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (s->capture || (unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_ILLEGAL_STATE;
  s->capture = new GraphState;
  s->captureOrigin = true;
  s->captureInvalid = false;
  s->captureTail.clear();
  return CUDA_SUCCESS;
}
TDS_API cuStreamEndCapture(CUstream handle, CUgraph *out) {
  TDS_ENTER(true);
  Stream *s = streamFromHandle(entry, handle);
  if (!s)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!out)
    return CUDA_ERROR_INVALID_VALUE;
  if (!s->capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  if (!s->captureOrigin)
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  GraphState *graph = s->capture;
  bool invalid = s->captureInvalid, unjoined = false;
  // Every stream that was drawn in must have been joined again.
  for (Stream *other : entry.driver.streams) {
    if (other == s || other->capture != graph)
      continue;
    invalid |= other->captureInvalid;
    for (NodeState *n : other->captureTail) {
      std::vector<NodeState *> work = s->captureTail;
      std::set<NodeState *> seen;
      bool found = false;
      while (!work.empty() && !found) {
        NodeState *m = work.back();
        work.pop_back();
        found = m == n;
        if (seen.insert(m).second)
          work.insert(work.end(), m->dependencies.begin(),
                      m->dependencies.end());
      }
      unjoined |= !found;
    }
    other->capture = nullptr;
    other->captureTail.clear();
  }
  for (EventState *e : entry.driver.events)
    if (e->capture == graph) {
      e->capture = nullptr;
      e->captureNodes.clear();
    }
  s->capture = nullptr;
  s->captureTail.clear();
  s->captureInvalid = false;
  if (invalid || unjoined) {
    destroyGraph(entry.driver, graph);
    *out = nullptr;
    return invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                   : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  entry.driver.graphs.insert(graph);
  *out = (CUgraph)graph;
  return CUDA_SUCCESS;
}
TDS_API cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  TDS_ENTER(true);
  Stream *s = streamFromHandle(entry, handle);
  if (!s)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!status)
    return CUDA_ERROR_INVALID_VALUE;
  *status = !s->capture         ? CU_STREAM_CAPTURE_STATUS_NONE
            : s->captureInvalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}
TDS_API cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
  if (!mode)
    return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, current);
  return CUDA_SUCCESS;
}

TDS_API cuGraphCreate(CUgraph *out, unsigned flags) {
  TDS_ENTER(true);
  if (!out || flags)
    return CUDA_ERROR_INVALID_VALUE;
  auto *g = new GraphState;
  entry.driver.graphs.insert(g);
  *out = (CUgraph)g;
  return CUDA_SUCCESS;
}
TDS_API cuGraphDestroy(CUgraph handle) {
  TDS_ENTER(false);
  TDS_GRAPH(g, handle);
  if (g->isChild)
    return CUDA_ERROR_INVALID_VALUE;
  destroyGraph(entry.driver, g);
  return CUDA_SUCCESS;
}
TDS_API cuGraphClone(CUgraph *out, CUgraph handle) {
  TDS_ENTER(true);
  TDS_GRAPH(g, handle);
  if (!out)
    return CUDA_ERROR_INVALID_VALUE;
  GraphState *copy = cloneGraph(entry.driver, *g, nullptr);
  for (auto &n : copy->nodes)
    entry.driver.nodes.insert(n.get());
  entry.driver.graphs.insert(copy);
  *out = (CUgraph)copy;
  return CUDA_SUCCESS;
}

#define TDS_NEW_NODE(TYPE)                                                     \
  TDS_ENTER(true);                                                             \
  TDS_GRAPH(graph, handle);                                                    \
  std::vector<NodeState *> before;                                             \
  if (!out || !takeDependencies(entry, *graph, dependencies, count, before))   \
  return CUDA_ERROR_INVALID_VALUE

TDS_API cuGraphAddEmptyNode(CUgraphNode *out, CUgraph handle,
                            const CUgraphNode *dependencies, size_t count) {
  TDS_NEW_NODE(EMPTY);
  *out = (CUgraphNode)addNode(entry, *graph, CU_GRAPH_NODE_TYPE_EMPTY, before);
  return CUDA_SUCCESS;
}
TDS_API cuGraphAddKernelNode(CUgraphNode *out, CUgraph handle,
                             const CUgraphNode *dependencies, size_t count,
                             const CUDA_KERNEL_NODE_PARAMS *params) {
  TDS_NEW_NODE(KERNEL);
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  KernelLaunch launch;
  CUresult r = kernelOfParams(entry, *params, launch);
  if (r != CUDA_SUCCESS)
    return r;
  NodeState *n = addNode(entry, *graph, CU_GRAPH_NODE_TYPE_KERNEL, before);
  n->kernel = std::move(launch);
  *out = (CUgraphNode)n;
  return CUDA_SUCCESS;
}
TDS_API cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph handle,
                             const CUgraphNode *dependencies, size_t count,
                             const CUDA_MEMCPY3D *params, CUcontext) {
  TDS_NEW_NODE(MEMCPY);
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  NodeState *n = addNode(entry, *graph, CU_GRAPH_NODE_TYPE_MEMCPY, before);
  n->copy = *params;
  *out = (CUgraphNode)n;
  return CUDA_SUCCESS;
}
TDS_API cuGraphAddMemsetNode(CUgraphNode *out, CUgraph handle,
                             const CUgraphNode *dependencies, size_t count,
                             const CUDA_MEMSET_NODE_PARAMS *params, CUcontext) {
  TDS_NEW_NODE(MEMSET);
  if (!params || (params->elementSize != 1 && params->elementSize != 2 &&
                  params->elementSize != 4))
    return CUDA_ERROR_INVALID_VALUE;
  NodeState *n = addNode(entry, *graph, CU_GRAPH_NODE_TYPE_MEMSET, before);
  n->set = *params;
  *out = (CUgraphNode)n;
  return CUDA_SUCCESS;
}
TDS_API cuGraphAddHostNode(CUgraphNode *out, CUgraph handle,
                           const CUgraphNode *dependencies, size_t count,
                           const CUDA_HOST_NODE_PARAMS *params) {
  TDS_NEW_NODE(HOST);
  if (!params || !params->fn)
    return CUDA_ERROR_INVALID_VALUE;
  NodeState *n = addNode(entry, *graph, CU_GRAPH_NODE_TYPE_HOST, before);
  n->host = *params;
  *out = (CUgraphNode)n;
  return CUDA_SUCCESS;
}
TDS_API cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph handle,
                                 const CUgraphNode *dependencies, size_t count,
                                 CUgraph childHandle) {
  TDS_NEW_NODE(GRAPH);
  TDS_GRAPH(child, childHandle);
  GraphState *copy = cloneGraph(entry.driver, *child, nullptr);
  copy->isChild = true;
  NodeState *n = addNode(entry, *graph, CU_GRAPH_NODE_TYPE_GRAPH, before);
  n->child = copy;
  *out = (CUgraphNode)n;
  return CUDA_SUCCESS;
}
TDS_API cuGraphAddDependencies_v2(CUgraph handle, const CUgraphNode *from,
                                  const CUgraphNode *to,
                                  const CUgraphEdgeData *edges, size_t count) {
  TDS_ENTER(true);
  TDS_GRAPH(graph, handle);
  if (count && (!from || !to))
    return CUDA_ERROR_INVALID_VALUE;
  (void)edges;
  for (size_t i = 0; i < count; ++i) {
    NodeState *a = nodeOf(entry, from[i]), *b = nodeOf(entry, to[i]);
    if (!a || !b || a->graph != graph || b->graph != graph || a == b)
      return CUDA_ERROR_INVALID_VALUE;
    if (std::find(b->dependencies.begin(), b->dependencies.end(), a) ==
        b->dependencies.end())
      b->dependencies.push_back(a);
  }
  return CUDA_SUCCESS;
}
#undef cuGraphAddDependencies
TDS_API cuGraphAddDependencies(CUgraph handle, const CUgraphNode *from,
                               const CUgraphNode *to, size_t count) {
  return cuGraphAddDependencies_v2(handle, from, to, nullptr, count);
}
TDS_API cuGraphGetNodes(CUgraph handle, CUgraphNode *out, size_t *count) {
  TDS_ENTER(true);
  TDS_GRAPH(graph, handle);
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  if (!out) {
    *count = graph->nodes.size();
    return CUDA_SUCCESS;
  }
  for (size_t i = 0; i < *count; ++i)
    out[i] =
        i < graph->nodes.size() ? (CUgraphNode)graph->nodes[i].get() : nullptr;
  *count = std::min(*count, graph->nodes.size());
  return CUDA_SUCCESS;
}
TDS_API cuGraphGetRootNodes(CUgraph handle, CUgraphNode *out, size_t *count) {
  TDS_ENTER(true);
  TDS_GRAPH(graph, handle);
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  size_t n = 0;
  for (auto &node : graph->nodes)
    if (node->dependencies.empty()) {
      if (out && n < *count)
        out[n] = (CUgraphNode)node.get();
      ++n;
    }
  *count = out ? std::min(*count, n) : n;
  return CUDA_SUCCESS;
}
TDS_API cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type) {
  TDS_ENTER(true);
  TDS_NODE(node, handle);
  if (!type)
    return CUDA_ERROR_INVALID_VALUE;
  *type = node->type;
  return CUDA_SUCCESS;
}
TDS_API cuGraphKernelNodeGetParams(CUgraphNode handle,
                                   CUDA_KERNEL_NODE_PARAMS *params) {
  TDS_ENTER(true);
  TDS_NODE(node, handle);
  if (!params || node->type != CU_GRAPH_NODE_TYPE_KERNEL)
    return CUDA_ERROR_INVALID_VALUE;
  memset(params, 0, sizeof *params);
  KernelLaunch &k = node->kernel;
  params->func = (CUfunction)k.function;
  params->gridDimX = k.grid[0];
  params->gridDimY = k.grid[1];
  params->gridDimZ = k.grid[2];
  params->blockDimX = k.block[0];
  params->blockDimY = k.block[1];
  params->blockDimZ = k.block[2];
  params->sharedMemBytes = k.shared;
  node->paramPointers.clear();
  for (const ParamSlot &p : k.function->code->params)
    node->paramPointers.push_back(k.params.data() + p.offset);
  params->kernelParams = node->paramPointers.data();
  return CUDA_SUCCESS;
}
TDS_API cuGraphKernelNodeSetParams(CUgraphNode handle,
                                   const CUDA_KERNEL_NODE_PARAMS *params) {
  TDS_ENTER(true);
  TDS_NODE(node, handle);
  if (!params || node->type != CU_GRAPH_NODE_TYPE_KERNEL)
    return CUDA_ERROR_INVALID_VALUE;
  return kernelOfParams(entry, *params, node->kernel);
}
TDS_API cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D *params) {
  TDS_ENTER(true);
  TDS_NODE(node, handle);
  if (!params || node->type != CU_GRAPH_NODE_TYPE_MEMCPY)
    return CUDA_ERROR_INVALID_VALUE;
  *params = node->copy;
  return CUDA_SUCCESS;
}
TDS_API cuGraphMemcpyNodeSetParams(CUgraphNode handle,
                                   const CUDA_MEMCPY3D *params) {
  TDS_ENTER(true);
  TDS_NODE(node, handle);
  if (!params || node->type != CU_GRAPH_NODE_TYPE_MEMCPY)
    return CUDA_ERROR_INVALID_VALUE;
  node->copy = *params;
  return CUDA_SUCCESS;
}

#undef cuGraphInstantiate
TDS_API cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph,
                                    unsigned long long flags) {
  if (flags &
      ~(unsigned long long)(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                            CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                            CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY))
    return CUDA_ERROR_INVALID_VALUE;
  return instantiate(out, graph);
}
TDS_API cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph,
                              CUgraphNode *errorNode, char *log, size_t size) {
  if (errorNode)
    *errorNode = nullptr;
  if (log && size)
    log[0] = 0;
  return instantiate(out, graph);
}
TDS_API cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph,
                                     CUDA_GRAPH_INSTANTIATE_PARAMS *params) {
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  CUresult r = instantiate(out, graph);
  params->result_out = r == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                                         : CUDA_GRAPH_INSTANTIATE_ERROR;
  params->hErrNode_out = nullptr;
  return r;
}
#define TDS_EXEC(var, handle)                                                  \
  auto *var = (GraphExecState *)handle;                                        \
  if (!entry.driver.graphExecs.count(var))                                     \
  return CUDA_ERROR_INVALID_VALUE

TDS_API cuGraphExecDestroy(CUgraphExec handle) {
  TDS_ENTER(false);
  TDS_EXEC(exec, handle);
  entry.driver.graphExecs.erase(exec);
  for (auto &n : exec->graph->nodes)
    if (n->child)
      destroyGraph(entry.driver, n->child);
  delete exec;
  return CUDA_SUCCESS;
}
TDS_API cuGraphUpload(CUgraphExec handle, CUstream) {
  TDS_ENTER(true);
  TDS_EXEC(exec, handle);
  (void)exec;
  return CUDA_SUCCESS;
}
TDS_API cuGraphLaunch(CUgraphExec handle, CUstream streamHandle) {
  TDS_ENTER(true);
  TDS_EXEC(exec, handle);
  Stream *s = streamFromHandle(entry, streamHandle);
  if (!s)
    return CUDA_ERROR_INVALID_HANDLE;
  if (s->capture) {
    NodeState *n = captureNode(entry, *s, CU_GRAPH_NODE_TYPE_GRAPH);
    if (!n)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    n->child = cloneGraph(entry.driver, *exec->graph, nullptr);
    n->child->isChild = true;
    return CUDA_SUCCESS;
  }
  auto steps = std::make_shared<std::vector<std::function<CUresult()>>>();
  planNodes(entry.driver, *exec->graph,
            entry.driver.settings().schedule.seed + entry.driver.sequence,
            *steps);
  Work work;
  work.run = [steps] {
    for (auto &step : *steps) {
      CUresult r = step();
      if (r != CUDA_SUCCESS)
        return r;
    }
    return CUDA_SUCCESS;
  };
  entry.driver.enqueue(*s, std::move(work));
  return CUDA_SUCCESS;
}
TDS_API cuGraphExecKernelNodeSetParams(CUgraphExec handle, CUgraphNode node,
                                       const CUDA_KERNEL_NODE_PARAMS *params) {
  TDS_ENTER(true);
  TDS_EXEC(exec, handle);
  TDS_NODE(original, node);
  NodeState *n = execNode(exec, original);
  if (!params || !n || n->type != CU_GRAPH_NODE_TYPE_KERNEL)
    return CUDA_ERROR_INVALID_VALUE;
  KernelLaunch launch;
  CUresult r = kernelOfParams(entry, *params, launch);
  if (r == CUDA_SUCCESS)
    n->kernel = std::move(launch);
  return r;
}
TDS_API cuGraphExecMemcpyNodeSetParams(CUgraphExec handle, CUgraphNode node,
                                       const CUDA_MEMCPY3D *params, CUcontext) {
  TDS_ENTER(true);
  TDS_EXEC(exec, handle);
  TDS_NODE(original, node);
  NodeState *n = execNode(exec, original);
  if (!params || !n || n->type != CU_GRAPH_NODE_TYPE_MEMCPY)
    return CUDA_ERROR_INVALID_VALUE;
  n->copy = *params;
  return CUDA_SUCCESS;
}
TDS_API cuGraphExecMemsetNodeSetParams(CUgraphExec handle, CUgraphNode node,
                                       const CUDA_MEMSET_NODE_PARAMS *params,
                                       CUcontext) {
  TDS_ENTER(true);
  TDS_EXEC(exec, handle);
  TDS_NODE(original, node);
  NodeState *n = execNode(exec, original);
  if (!params || !n || n->type != CU_GRAPH_NODE_TYPE_MEMSET)
    return CUDA_ERROR_INVALID_VALUE;
  n->set = *params;
  return CUDA_SUCCESS;
}
TDS_API cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graphHandle,
                             CUgraphExecUpdateResultInfo *info) {
  TDS_ENTER(true);
  TDS_EXEC(exec, handle);
  TDS_GRAPH(graph, graphHandle);
  auto answer = [&](CUgraphExecUpdateResult result, NodeState *node) {
    if (info) {
      memset(info, 0, sizeof *info);
      info->result = result;
      info->errorNode = (CUgraphNode)node;
    }
    return result == CU_GRAPH_EXEC_UPDATE_SUCCESS
               ? CUDA_SUCCESS
               : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  };
  const auto &now = exec->graph->nodes;
  if (now.size() != graph->nodes.size())
    return answer(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr);
  for (size_t i = 0; i < now.size(); ++i) {
    NodeState *a = now[i].get(), *b = graph->nodes[i].get();
    if (a->type != b->type)
      return answer(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, b);
    std::set<u32> da, db;
    for (NodeState *d : a->dependencies)
      da.insert(d->index);
    for (NodeState *d : b->dependencies)
      db.insert(d->index);
    if (da != db)
      return answer(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, b);
  }
  exec->fromOriginal.clear();
  for (size_t i = 0; i < now.size(); ++i) {
    NodeState *a = now[i].get(), *b = graph->nodes[i].get();
    a->kernel = b->kernel;
    a->copy = b->copy;
    a->set = b->set;
    a->host = b->host;
    exec->fromOriginal[b] = a;
  }
  return answer(CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr);
}

#!/usr/bin/env python3
"""Makes Inputs/torch_vectors.json: what PyTorch (in f64) says of every function, layer and optimiser of the standard modules.

    pip install torch==2.15.0 && make_vectors.py Inputs/torch_vectors.json

Each case is a TDS program and a list of entry calls with inputs and the results expected, values and gradients. VectorTests.cpp runs them
through the reference evaluator and the CPU code. Sizes are rectangular and odd on purpose.
"""
import json
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
cases = []


def f32(tensor):
    """The values as f32 numbers, so that both sides start from the same inputs."""
    return tensor.to(torch.float32).to(torch.float64)


def rand(*shape):
    return f32(torch.randn(shape))


def pack(tensor, kind=None):
    kind = kind or ("f32" if tensor.dtype.is_floating_point else "i32")
    return {"type": kind, "shape": list(tensor.shape), "data": tensor.detach().flatten().tolist()}


def case(name, program, calls):
    cases.append({"name": name, "program": program, "calls": calls})


def shape_text(tensor):
    return "f32" + ("[%s]" % ", ".join(map(str, tensor.shape)) if tensor.dim() else "")


def function(name, call, inputs, torch_function, extra=(), header="use nn\n", wrt=None):
    """A function of float inputs `inputs` (name -> tensor) and other inputs `extra` (name -> (tensor, type)): its value and its gradients,
    weighted by random numbers."""
    wrt = list(inputs) if wrt is None else wrt
    leaves = {key: value.clone().requires_grad_(key in wrt) for key, value in inputs.items()}
    y = torch_function(**leaves, **{key: value for key, (value, _) in dict(extra).items()})
    weight = rand(*y.shape)
    (y * weight).sum().backward()
    arguments = ["%s: %s" % (key, shape_text(value)) for key, value in inputs.items()]
    arguments += ["%s: %s[%s]" % (key, kind, ", ".join(map(str, value.shape))) for key, (value, kind) in dict(extra).items()]
    arguments.append("c: " + shape_text(y))
    results = ["y: " + shape_text(y)] + ["d%s: %s" % (key, shape_text(inputs[key])) for key in wrt]
    gradients = ", ".join(wrt)
    program = header + "export fn f(%s) -> (%s) {\n  let y = %s\n" % (", ".join(arguments), ", ".join(results), call)
    if len(wrt) == 1:
        program += "  let g = grad(sum(y * c), %s)\n  (y, g)\n}\n" % gradients
    else:
        names = ", ".join("g%d" % i for i in range(len(wrt)))
        program += "  let (%s) = grad(sum(y * c), (%s))\n  (y, %s)\n}\n" % (names, gradients, names)
    feed = {key: pack(value) for key, value in inputs.items()}
    feed.update({key: pack(value, kind) for key, (value, kind) in dict(extra).items()})
    feed["c"] = pack(weight)
    expected = {"y": pack(y)}
    expected.update({"d" + key: pack(leaves[key].grad) for key in wrt})
    case(name, program, [{"entry": "f", "inputs": feed, "results": expected}])


for shape in ((5, 7), (1,), (3, 1, 11)):
    tag = "x".join(map(str, shape))
    function("relu_" + tag, "nn.relu(x)", {"x": rand(*shape)}, lambda x: F.relu(x))
    function("gelu_" + tag, "nn.gelu(x)", {"x": 3 * rand(*shape)}, lambda x: F.gelu(x))
    function("softmax_" + tag, "nn.softmax(x)", {"x": 4 * rand(*shape)}, lambda x: F.softmax(x, -1))
    function("log_softmax_" + tag, "nn.log_softmax(x)", {"x": 4 * rand(*shape)}, lambda x: F.log_softmax(x, -1))
    function("mse_" + tag, "nn.mse(x, t)", {"x": rand(*shape), "t": rand(*shape)}, lambda x, t: F.mse_loss(x, t))
    function("layer_norm_" + tag, "nn.layer_norm(x, s, b)",
             {"x": rand(*shape) + 2 if shape[-1] > 1 else rand(*shape), "s": rand(shape[-1]), "b": rand(shape[-1])},
             lambda x, s, b: F.layer_norm(x, x.shape[-1:], s, b))
for n, c in ((5, 7), (1, 3), (13, 10)):
    label = torch.randint(0, c, (n,))
    for kind in ("i32", "u8", "i64"):
        function("cross_entropy_%dx%d_%s" % (n, c, kind), "nn.cross_entropy(x, label)", {"x": 5 * rand(n, c)},
                 lambda x, label: F.cross_entropy(x, label, reduction="none"), extra={"label": (label, kind)})
function("dropout_evaluates_to_identity", "nn.dropout(x, 0.5)", {"x": rand(4, 9)}, lambda x: x)

# Layers: parameters are written, then the layer is called and differentiated.
x, w, b = rand(5, 7), rand(7, 3), rand(3)
leaves = [t.clone().requires_grad_() for t in (x, w, b)]
y = leaves[0] @ leaves[1] + leaves[2]
c = rand(*y.shape)
(y * c).sum().backward()
case("Linear", """use nn
layer l = nn.Linear(7, 3)
export fn f(x: f32[5, 7], c: f32[5, 3]) -> (y: f32[5, 3], dx: f32[5, 7], dw: f32[7, 3], db: f32[3]) {
  let y = l(x)
  let (dx, dw, db) = grad(sum(y * c), (x, l.w, l.b))
  (y, dx, dw, db)
}
""", [{"write": {"l.w": pack(w), "l.b": pack(b)}},
      {"entry": "f", "inputs": {"x": pack(x), "c": pack(c)},
       "results": {"y": pack(y), "dx": pack(leaves[0].grad), "dw": pack(leaves[1].grad), "db": pack(leaves[2].grad)}}])

x, w = rand(2, 5, 7), rand(7, 3)
leaves = [t.clone().requires_grad_() for t in (x, w)]
y = leaves[0] @ leaves[1]
c = rand(*y.shape)
(y * c).sum().backward()
case("Linear_without_bias_rank3", """use nn
layer l = nn.Linear(7, 3, bias = false)
export fn f(x: f32[2, 5, 7], c: f32[2, 5, 3]) -> (y: f32[2, 5, 3], dx: f32[2, 5, 7], dw: f32[7, 3]) {
  let y = l(x)
  let (dx, dw) = grad(sum(y * c), (x, l.w))
  (y, dx, dw)
}
""", [{"write": {"l.w": pack(w)}},
      {"entry": "f", "inputs": {"x": pack(x), "c": pack(c)},
       "results": {"y": pack(y), "dx": pack(leaves[0].grad), "dw": pack(leaves[1].grad)}}])

table, ids = rand(11, 3), torch.tensor([[3, 0, 10, 3], [7, 7, 1, 3], [2, 10, 0, 9]])
leaf = table.clone().requires_grad_()
y = F.embedding(ids, leaf)
c = rand(*y.shape)
(y * c).sum().backward()
case("Embedding", """use nn
layer l = nn.Embedding(11, 3)
export fn f(ids: i32[3, 4], c: f32[3, 4, 3]) -> (y: f32[3, 4, 3], dw: f32[11, 3]) {
  let y = l(ids)
  (y, grad(sum(y * c), l.w))
}
""", [{"write": {"l.w": pack(table)}},
      {"entry": "f", "inputs": {"ids": pack(ids), "c": pack(c)}, "results": {"y": pack(y), "dw": pack(leaf.grad)}}])

x, s, b = rand(3, 5, 7), rand(7), rand(7)
leaves = [t.clone().requires_grad_() for t in (x, s, b)]
y = F.layer_norm(leaves[0], (7,), leaves[1], leaves[2])
c = rand(*y.shape)
(y * c).sum().backward()
case("LayerNorm", """use nn
layer l = nn.LayerNorm(7)
export fn f(x: f32[3, 5, 7], c: f32[3, 5, 7]) -> (y: f32[3, 5, 7], dx: f32[3, 5, 7], ds: f32[7], db: f32[7]) {
  let y = l(x)
  let (dx, ds, db) = grad(sum(y * c), (x, l.scale, l.shift))
  (y, dx, ds, db)
}
""", [{"write": {"l.scale": pack(s), "l.shift": pack(b)}},
      {"entry": "f", "inputs": {"x": pack(x), "c": pack(c)},
       "results": {"y": pack(y), "dx": pack(leaves[0].grad), "ds": pack(leaves[1].grad), "db": pack(leaves[2].grad)}}])

# Optimisers: the loss is sum(p * c), so the gradient is c; three steps with different gradients.
OPTIMISERS = {
    "sgd": ("optim.sgd(lr = 0.1)", lambda p: torch.optim.SGD([p], lr=0.1)),
    "sgd_decay": ("optim.sgd(lr = 0.1, weight_decay = 0.25)", lambda p: torch.optim.SGD([p], lr=0.1, weight_decay=0.25)),
    "momentum": ("optim.momentum(lr = 0.1, mu = 0.75)", lambda p: torch.optim.SGD([p], lr=0.1, momentum=0.75)),
    "nesterov": ("optim.momentum(lr = 0.1, mu = 0.75, nesterov = true, weight_decay = 0.25)",
                 lambda p: torch.optim.SGD([p], lr=0.1, momentum=0.75, nesterov=True, weight_decay=0.25)),
    "adam": ("optim.adam(lr = 0.1)", lambda p: torch.optim.Adam([p], lr=0.1)),
    "adam_betas": ("optim.adam(lr = 0.1, beta1 = 0.5, beta2 = 0.75, eps = 0.125)",
                   lambda p: torch.optim.Adam([p], lr=0.1, betas=(0.5, 0.75), eps=0.125)),
    "adamw": ("optim.adamw(lr = 0.1, weight_decay = 0.5)", lambda p: torch.optim.AdamW([p], lr=0.1, weight_decay=0.5)),
}
for name, (text, make) in OPTIMISERS.items():
    start = rand(3, 5)
    p = start.clone().requires_grad_()
    optimiser = make(p)
    calls = [{"write": {"p": pack(start)}}]
    for _ in range(3):
        gradient = rand(3, 5)
        loss = (p * gradient).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        calls.append({"entry": "train", "inputs": {"c": pack(gradient)}, "results": {"loss": pack(loss)}})
        calls.append({"entry": "get", "inputs": {}, "results": {"v": pack(p)}})
    case(name, """use optim
dim B = 3
param p: f32[B, 5] = 0
step train(c: f32[B, 5]) -> (loss: f32) {
  let loss = sum(p * c)
  minimize loss over p with %s
  (loss)
}
export fn get() -> (v: f32[B, 5]) { (p) }
""" % text, calls)

# Schedules against PyTorch's schedulers. A step counts from 0.
p = torch.zeros(1, requires_grad=True)
optimiser = torch.optim.SGD([p], lr=0.5)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=9)
calls = []
for step in range(10):
    calls.append({"entry": "f", "inputs": {"it": pack(torch.tensor(step), "i64")},
                  "results": {"lr": pack(torch.tensor(schedule.get_last_lr()[0]))}})
    optimiser.step()
    schedule.step()
case("cosine", "use optim\nexport fn f(it: i64) -> (lr: f32) { (optim.cosine(it, peak = 0.5, total = 9)) }\n", calls)
calls = []
for step in range(6):
    rate = 0.5 * min(1.0, (step + 1) / 4)
    calls.append({"entry": "f", "inputs": {"it": pack(torch.tensor(step), "i64")}, "results": {"lr": pack(torch.tensor(rate))}})
case("constant", "use optim\nexport fn f(it: i64) -> (lr: f32) { (optim.constant(it, peak = 0.5, warmup = 4)) }\n", calls)

with open(sys.argv[1], "w") as out:
    json.dump({"torch": torch.__version__, "rtol": 1e-5, "atol": 1e-6, "cases": cases}, out, indent=1)
    out.write("\n")
print("%d cases" % len(cases))

#!/usr/bin/env python3
"""Makes Inputs/torch_vectors.json: what PyTorch (in f64) says of every function, layer and optimiser of the standard modules.

    pip install torch==2.15.0 && make_vectors.py Inputs/torch_vectors.json

Each case is a TDS program and a list of entry calls with inputs and the results expected, values and gradients. VectorTest.cpp runs them
through the reference evaluator, the CPU code and the PTX code in the simulator. Sizes are rectangular and odd on purpose.
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
    numbers = tensor.detach().flatten().tolist()
    # Nine digits name each f32.
    return {"type": kind, "shape": list(tensor.shape), "data": [float("%.9g" % x) for x in numbers] if kind == "f32" else numbers}


def case(name, program, calls):
    cases.append({"name": name, "program": program, "calls": calls})


def shape_text(tensor, kind="f32"):
    return kind + ("[%s]" % ", ".join(map(str, tensor.shape)) if tensor.dim() else "")


def check(name, call, torch_function, inputs=None, layer=None, weights=None, extra=None, state=None, training=False, rate=0.02):
    """A function or a layer: its value, its gradients weighted by random numbers, and three steps of gradient descent on all its inputs.

    `inputs` are float tensors by name, `weights` those of the layer `l` by name, `extra` (tensor, type) pairs by name. All are variables of the
    program. `torch_function` takes them by name. `state` holds tensors of the layer `l` that `torch_function` changes in training."""
    inputs, weights, extra, state = inputs or {}, weights or {}, extra or {}, state or {}
    start = {**inputs, **weights}
    plain = {key: value for key, (value, _) in extra.items()}

    def run(leaves):
        return torch_function(**leaves, **plain)

    # `qkv.w` is called qkv_w among the results and arguments.
    paths = {key.replace(".", "_"): ("l." + key if key in weights else key) for key in start}
    start = {key.replace(".", "_"): value for key, value in start.items()}
    program = "use nn, optim\n" + ("layer l = %s\n" % layer if layer else "")
    for key, value in inputs.items():
        program += "param %s: %s = 0\n" % (key, shape_text(value))
    for key, (value, kind) in extra.items():
        program += "state %s: %s = 0\n" % (key, shape_text(value, kind))
    before = {key: value.clone() for key, value in state.items()}
    leaves = {key: value.clone().requires_grad_() for key, value in start.items()}
    y = run(leaves)
    c = rand(*y.shape)
    rate = f32(torch.tensor(rate * c.numel())).item()
    (y * c).sum().backward()
    expected = {"y": pack(y)}
    expected.update({"d" + key: pack(leaf.grad) for key, leaf in leaves.items()})
    program += "state c: %s = 0\n" % shape_text(c)
    program += "%s f() -> (y: %s, %s) {\n  let y = %s\n" % (
        "step" if training else "export fn", shape_text(y),
        ", ".join("d%s: %s" % (key, shape_text(value)) for key, value in start.items()), call)
    names = ", ".join("d" + key for key in start)
    if len(start) == 1:
        program += "  let %s = grad(sum(y * c), %s)\n" % (names, ", ".join(paths.values()))
    else:
        program += "  let (%s) = grad(sum(y * c), (%s))\n" % (names, ", ".join(paths.values()))
    program += "  (y, %s)\n}\n" % names
    program += "step train() -> (loss: f32) {\n  let loss = mean(%s * c)\n  minimize loss over %s with optim.sgd(lr = %.9g)\n  (loss)\n}\n" % (
        call, ", ".join(paths.values()), rate)
    kept = {**{key: paths[key] for key in start}, **{key: "l." + key for key in state}}
    program += "export fn get() -> (%s) { (%s) }\n" % (
        ", ".join("%s: %s" % (key, shape_text({**start, **state}[key])) for key in kept), ", ".join(kept.values()))

    write = {paths[key]: pack(value) for key, value in start.items()}
    write.update({key: pack(value, kind) for key, (value, kind) in extra.items()})
    write.update({"l." + key: pack(value) for key, value in before.items()})
    write["c"] = pack(c)
    calls = [{"write": write}, {"entry": "f", "inputs": {}, "results": expected}]
    leaves = {key: value.clone().requires_grad_() for key, value in start.items()}
    optimiser = torch.optim.SGD(leaves.values(), lr=rate)
    for _ in range(3):
        optimiser.zero_grad()
        loss = (run(leaves) * c).mean()
        loss.backward()
        optimiser.step()
        calls.append({"entry": "train", "inputs": {}, "results": {"loss": pack(loss)}})
    calls.append({"entry": "get", "inputs": {}, "results": {key: pack({**leaves, **state}[key]) for key in kept}})
    case(name, program, calls)


# Activations and losses.
x_of = {"": rand(5, 7), "_one": rand(1), "_rank3": rand(3, 1, 11)}
for tag, x in x_of.items():
    for name, call, torch_function in (
            ("relu", "nn.relu(x)", lambda x: F.relu(x)),
            ("leaky_relu", "nn.leaky_relu(x, 0.2)", lambda x: F.leaky_relu(x, 0.2)),
            ("elu", "nn.elu(x, alpha = 0.7)", lambda x: F.elu(x, 0.7)),
            ("gelu", "nn.gelu(x)", lambda x: F.gelu(x)),
            ("gelu_tanh", "nn.gelu_tanh(x)", lambda x: F.gelu(x, approximate="tanh")),
            ("silu", "nn.silu(x)", lambda x: F.silu(x)),
            ("softplus", "nn.softplus(x)", lambda x: F.softplus(x, threshold=1e9)),
            ("hardswish", "nn.hardswish(x)", lambda x: F.hardswish(x)),
            ("softmax", "nn.softmax(x)", lambda x: F.softmax(x, -1)),
            ("log_softmax", "nn.log_softmax(x)", lambda x: F.log_softmax(x, -1))):
        check(name + tag, call, torch_function, {"x": f32(3 * x)})
    t = rand(*x.shape)
    for name, call, torch_function in (
            ("mse", "nn.mse(x, t)", lambda x, t: F.mse_loss(x, t)),
            ("l1", "nn.l1(x, t)", lambda x, t: F.l1_loss(x, t)),
            ("huber", "nn.huber(x, t, delta = 0.75)", lambda x, t: F.huber_loss(x, t, delta=0.75)),
            ("bce_with_logits", "nn.bce_with_logits(x, nn.softplus(t))",
             lambda x, t: F.binary_cross_entropy_with_logits(x, F.softplus(t, threshold=1e9)))):
        check(name + tag, call, torch_function, {"x": x, "t": t})
    check("bce" + tag, "nn.bce(sigmoid(x), sigmoid(t))", lambda x, t: F.binary_cross_entropy(torch.sigmoid(x), torch.sigmoid(t)),
          {"x": x, "t": t})
    check("kl" + tag, "nn.kl(nn.log_softmax(x), nn.log_softmax(t))",
          lambda x, t: F.kl_div(F.log_softmax(t, -1), F.log_softmax(x, -1), reduction="none", log_target=True).sum(-1), {"x": x, "t": t})
for n, c, kind in ((5, 7, "i32"), (1, 3, "u8"), (13, 10, "i64")):
    label = torch.randint(0, c, (n,))
    some = label.clone()
    some[0] = 2
    x = f32(3 * rand(n, c))
    check("cross_entropy_" + kind, "nn.cross_entropy(x, label)", lambda x, label: F.cross_entropy(x, label, reduction="none"), {"x": x},
          extra={"label": (label, kind)})
    check("cross_entropy_ignore_" + kind, "nn.cross_entropy(x, label, ignore = 2)",
          lambda x, label: F.cross_entropy(x, label, reduction="none", ignore_index=2), {"x": x}, extra={"label": (some, kind)})
    check("smooth_cross_entropy_" + kind, "nn.smooth_cross_entropy(x, label, 0.3, ignore = 2)",
          lambda x, label: F.cross_entropy(x, label, reduction="none", ignore_index=2, label_smoothing=0.3), {"x": x},
          extra={"label": (some, kind)})
# The default `ignore` lies outside of the labels.
check("cross_entropy_minus_100", "nn.cross_entropy(x, label)", lambda x, label: F.cross_entropy(x, label, reduction="none"), {"x": rand(4, 3)},
      extra={"label": (torch.tensor([2, -100, 0, -100]), "i32")})
check("dropout_evaluates_to_identity", "nn.dropout(x, 0.0)", lambda x: x, {"x": rand(4, 9)})

# Normalisation.
for tag, shape in (("", (5, 7)), ("_rank3", (3, 5, 11))):
    d = shape[-1]
    x, scale, shift = f32(rand(*shape) + 2), rand(d), rand(d)
    check("layer_norm" + tag, "nn.layer_norm(x, s, b)", lambda x, s, b: F.layer_norm(x, x.shape[-1:], s, b), {"x": x, "s": scale, "b": shift})
    check("rms_norm" + tag, "nn.rms_norm(x, s)", lambda x, s: F.rms_norm(x, x.shape[-1:], s, 1e-6), {"x": x, "s": scale})
    check("LayerNorm" + tag, "l(x)", lambda x, scale, shift: F.layer_norm(x, x.shape[-1:], scale, shift, 1e-3), {"x": x},
          "nn.LayerNorm(%d, eps = 1e-3)" % d, {"scale": scale, "shift": shift})
    check("RmsNorm" + tag, "l(x)", lambda x, scale: F.rms_norm(x, x.shape[-1:], scale, 1e-3), {"x": x}, "nn.RmsNorm(%d, eps = 1e-3)" % d,
          {"scale": scale})
for groups, c in ((1, 5), (3, 6), (4, 4)):
    x, scale, shift = rand(2, c, 3, 5), rand(c), rand(c)
    check("group_norm_%d" % groups, "nn.group_norm(x, s, b, groups = %d)" % groups,
          lambda x, s, b, groups=groups: F.group_norm(x, groups, s, b), {"x": x, "s": scale, "b": shift})
    check("GroupNorm_%d" % groups, "l(x)", lambda x, scale, shift, groups=groups: F.group_norm(x, groups, scale, shift, 1e-3), {"x": x},
          "nn.GroupNorm(%d, %d, eps = 1e-3)" % (groups, c), {"scale": scale, "shift": shift})
for rank, shape in ((1, (7, 3)), (2, (3, 4, 5, 7))):
    x, scale, shift = f32(rand(*shape) + 1), rand(shape[1]), rand(shape[1])
    for training in (False, True):
        stats = {"run_mean": rand(shape[1]), "run_var": f32(rand(shape[1]).abs() + 0.5)}

        def batch_norm(x, scale, shift, stats=stats, training=training):
            return F.batch_norm(x, stats["run_mean"], stats["run_var"], scale, shift, training, 0.25, 1e-3)

        # `training` is set by the entry, and only a step trains: with running statistics there are no steps.
        if training:
            check("BatchNorm%dd_trains" % rank, "l(x)", batch_norm, {"x": x}, "nn.BatchNorm%dd(%d, momentum = 0.25, eps = 1e-3)" % (rank, shape[1]),
                  {"scale": scale, "shift": shift}, state=stats, training=True)
            continue
        leaves = [value.clone().requires_grad_() for value in (x, scale, shift)]
        y = batch_norm(*leaves)
        c = rand(*y.shape)
        (y * c).sum().backward()
        whole, row = shape_text(x), shape_text(scale)
        case("BatchNorm%dd_evaluates" % rank, """use nn
layer l = nn.BatchNorm%dd(%d, momentum = 0.25, eps = 1e-3)
export fn f(x: %s, c: %s) -> (y: %s, dx: %s, dscale: %s, dshift: %s) {
  let y = l(x)
  let (dx, dscale, dshift) = grad(sum(y * c), (x, l.scale, l.shift))
  (y, dx, dscale, dshift)
}
""" % (rank, shape[1], whole, whole, whole, whole, row, row),
             [{"write": {"l.scale": pack(scale), "l.shift": pack(shift), "l.run_mean": pack(stats["run_mean"]),
                         "l.run_var": pack(stats["run_var"])}},
              {"entry": "f", "inputs": {"x": pack(x), "c": pack(c)},
               "results": dict(zip(("y", "dx", "dscale", "dshift"), map(pack, [y] + [leaf.grad for leaf in leaves])))}])

# Linear maps and tables.
x, w, b = rand(6, 7), f32(0.5 * rand(7, 3)), rand(3)
check("Linear", "l(x)", lambda x, w, b: x @ w + b, {"x": x}, "nn.Linear(7, 3)", {"w": w, "b": b})
check("Linear_without_bias_rank3", "l(x)", lambda x, w: x @ w, {"x": rand(2, 5, 7)}, "nn.Linear(7, 3, bias = false)", {"w": w})
ids = torch.tensor([[3, 0, 10, 3], [7, 7, 1, 3], [2, 10, 0, 9]])
check("Embedding", "l(ids)", lambda w, ids: F.embedding(ids, w), layer="nn.Embedding(11, 3)", weights={"w": rand(11, 3)}, extra={"ids": (ids, "i32")})

check("add_channels", "nn.add_channels(x, b)", lambda x, b: x + b[:, None, None], {"x": rand(2, 3, 4, 5), "b": rand(3)})
check("decayed", "optim.decayed(x)", lambda x: x * 1.0, {"x": rand(3, 5)})

# Windows: rectangular images and filters, strides that leave a rest, dilation and groups.
for tag, n, cin, cout, h, w, kh, kw, stride, padding, dilation, groups in (
        ("", 2, 3, 4, 7, 9, 3, 3, 1, 0, 1, 1), ("_padded", 1, 2, 3, 5, 7, 3, 3, 1, 1, 1, 1), ("_strided", 2, 2, 3, 8, 11, 3, 3, 2, 1, 1, 1),
        ("_stride_3", 1, 1, 2, 10, 12, 2, 2, 3, 0, 1, 1), ("_rectangular", 2, 2, 3, 6, 9, 2, 5, 1, 2, 1, 1),
        ("_dilated", 1, 2, 2, 9, 11, 3, 2, 1, 2, 2, 1), ("_grouped", 2, 4, 6, 5, 6, 3, 3, 1, 1, 1, 2), ("_depthwise", 1, 5, 5, 6, 5, 3, 3, 2, 1, 1, 5),
        ("_all", 1, 4, 6, 11, 13, 2, 3, 2, 3, 2, 2), ("_one_by_one", 2, 5, 3, 3, 4, 1, 1, 1, 0, 1, 1), ("_whole", 1, 2, 3, 4, 5, 4, 5, 1, 0, 1, 1)):
    x, f, b = rand(n, cin, h, w), f32(0.3 * rand(cout, cin // groups, kh, kw)), rand(cout)
    text = "stride = %d, padding = %d, dilation = %d, groups = %d" % (stride, padding, dilation, groups)
    if tag in ("", "_rectangular", "_all"):
        check("conv2d" + tag, "nn.conv2d(x, taps, %s)" % text,
              lambda x, taps, s=stride, p=padding, d=dilation, g=groups: F.conv2d(x, taps, None, s, p, d, g), {"x": x, "taps": f})
    check("Conv2d" + tag, "l(x)", lambda x, w, b, s=stride, p=padding, d=dilation, g=groups: F.conv2d(x, w, b, s, p, d, g), {"x": x},
          "nn.Conv2d(%d, %d, %d, %d, %s)" % (cin, cout, kh, kw, text), {"w": f, "b": b})
check("Conv2d_without_bias", "l(x)", lambda x, w: F.conv2d(x, w), {"x": rand(1, 2, 5, 4)}, "nn.Conv2d(2, 3, 3, bias = false)",
      {"w": f32(0.3 * rand(3, 2, 3, 3))})
for tag, n, cin, cout, h, w, kh, kw, stride, padding, dilation, groups, more in (
        ("", 2, 3, 2, 4, 5, 3, 3, 1, 0, 1, 1, 0), ("_strided", 1, 2, 3, 3, 5, 3, 3, 2, 1, 1, 1, 1), ("_rectangular", 1, 2, 3, 4, 3, 2, 4, 2, 0, 1, 1, 0),
        ("_dilated", 1, 2, 2, 4, 5, 3, 2, 1, 1, 2, 1, 0), ("_grouped", 2, 4, 6, 3, 4, 3, 3, 2, 1, 1, 2, 0), ("_all", 1, 4, 2, 3, 4, 2, 3, 3, 1, 2, 2, 2)):
    x, f, b = rand(n, cin, h, w), f32(0.3 * rand(cin, cout // groups, kh, kw)), rand(cout)
    text = "stride = %d, padding = %d, dilation = %d, groups = %d, output_padding = %d" % (stride, padding, dilation, groups, more)
    if tag in ("", "_all"):
        check("conv_transpose2d" + tag, "nn.conv_transpose2d(x, taps, %s)" % text,
              lambda x, taps, s=stride, p=padding, d=dilation, g=groups, o=more: F.conv_transpose2d(x, taps, None, s, p, o, g, d),
              {"x": x, "taps": f})
    check("ConvTranspose2d" + tag, "l(x)",
          lambda x, w, b, s=stride, p=padding, d=dilation, g=groups, o=more: F.conv_transpose2d(x, w, b, s, p, o, g, d), {"x": x},
          "nn.ConvTranspose2d(%d, %d, %d, %d, %s)" % (cin, cout, kh, kw, text), {"w": f, "b": b})
check("ConvTranspose2d_without_bias", "l(x)", lambda x, w: F.conv_transpose2d(x, w), {"x": rand(1, 2, 3, 4)},
      "nn.ConvTranspose2d(2, 3, 3, bias = false)", {"w": f32(0.3 * rand(2, 3, 3, 3))})
for tag, h, w, k, stride, padding in (("", 6, 8, 2, 2, 0), ("_rest", 7, 9, 2, 2, 0), ("_overlapping", 7, 6, 3, 2, 1), ("_stride_1", 4, 5, 3, 1, 0),
                                      ("_gaps", 8, 11, 2, 3, 1)):
    x = rand(2, 3, h, w)
    text = "%d, stride = %d, padding = %d" % (k, stride, padding) if stride != k else "%d" % k
    check("max_pool2d" + tag, "nn.max_pool2d(x, %s)" % text, lambda x, k=k, s=stride, p=padding: F.max_pool2d(x, k, s, p), {"x": x})
    check("avg_pool2d" + tag, "nn.avg_pool2d(x, %s)" % text, lambda x, k=k, s=stride, p=padding: F.avg_pool2d(x, k, s, p), {"x": x})
    if tag not in ("", "_overlapping"):
        continue
    check("MaxPool2d" + tag, "l(x)", lambda x, k=k, s=stride, p=padding: F.max_pool2d(x, k, s, p), {"x": x}, "nn.MaxPool2d(%s)" % text)
    check("AvgPool2d" + tag, "l(x)", lambda x, k=k, s=stride, p=padding: F.avg_pool2d(x, k, s, p), {"x": x}, "nn.AvgPool2d(%s)" % text)

# Attention.
for tag, causal, t, s in (("", False, 5, 7), ("_causal", True, 6, 6), ("_causal_longer_keys", True, 3, 5)):
    q, k, v = rand(2, 3, t, 4), rand(2, 3, s, 4), rand(2, 3, s, 5)
    mask = torch.ones(t, s, dtype=torch.bool).tril(s - t) if causal else None
    check("attention" + tag, "nn.attention(q, k, v, causal = %s)" % str(causal).lower(),
          lambda q, k, v, mask=mask: F.scaled_dot_product_attention(q, k, v, attn_mask=mask), {"q": q, "k": k, "v": v})
check("causal_mask", "nn.softmax(nn.causal_mask(x))", lambda x: F.softmax(x.masked_fill(~torch.ones(3, 5, dtype=torch.bool).tril(2), -torch.inf), -1),
      {"x": rand(2, 1, 3, 5)})
for tag, d, heads, causal, bias in (("", 6, 2, False, True), ("_causal", 9, 3, True, True), ("_one_head_without_bias", 5, 1, True, False)):
    module = torch.nn.MultiheadAttention(d, heads, bias=bias, batch_first=True)
    weights = {"qkv.w": f32(0.4 * rand(d, 3 * d)), "out.w": f32(0.4 * rand(d, d))}
    if bias:
        weights.update({"qkv.b": rand(3 * d), "out.b": rand(d)})

    def multi_head(x, module=module, causal=causal, **w):
        own = {"in_proj_weight": w["qkv_w"].T, "out_proj.weight": w["out_w"].T}
        if "qkv_b" in w:
            own.update({"in_proj_bias": w["qkv_b"], "out_proj.bias": w["out_b"]})
        mask = ~torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril() if causal else None
        return torch.func.functional_call(module, own, (x, x, x), {"attn_mask": mask, "need_weights": False})[0]

    check("MultiHeadAttention" + tag, "l(x)", multi_head, {"x": rand(2, 5, d)},
          "nn.MultiHeadAttention(%d, %d, causal = %s, bias = %s)" % (d, heads, str(causal).lower(), str(bias).lower()), weights)


def rotate(x, base, offset=0):
    """Rotary embedding by complex numbers."""
    t, d = x.shape[-2:]
    angle = torch.outer(torch.arange(t) + float(offset), base ** (-torch.arange(0, d, 2) / d))
    return torch.view_as_real(torch.view_as_complex(x.reshape(*x.shape[:-1], d // 2, 2)) * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


check("rotary", "nn.rotary(x)", lambda x: rotate(x, 10000.0), {"x": rand(2, 3, 5, 6)})
check("rotary_offset", "nn.rotary(x, base = 100.0, offset = 3)", lambda x: rotate(x, 100.0, 3), {"x": rand(1, 1, 4, 2)})
check("RotaryEmbedding", "l(x)", lambda x: rotate(x, 500.0), {"x": rand(2, 1, 3, 8)}, "nn.RotaryEmbedding(8, base = 500.0)")


# Recurrent layers: PyTorch's two biases are added where nothing stands between them.
def recurrent(make, x, **w):
    module = make(x.shape[2], w["wh"].shape[0], batch_first=True)
    bx = w.get("b", w.get("bx"))
    own = {"weight_ih_l0": w["wx"].T, "weight_hh_l0": w["wh"].T, "bias_ih_l0": bx, "bias_hh_l0": w.get("bh", torch.zeros_like(bx))}
    return torch.func.functional_call(module, own, (x,))[0]


for name, make, gates, biases in (("Rnn", torch.nn.RNN, 1, ("b",)), ("Gru", torch.nn.GRU, 3, ("bx", "bh")), ("Lstm", torch.nn.LSTM, 4, ("b",))):
    for n, t, d, h in ((2, 4, 3, 5), (1, 1, 2, 1)):
        weights = {"wx": f32(0.5 * rand(d, gates * h)), "wh": f32(0.5 * rand(h, gates * h))}
        weights.update({key: f32(0.5 * rand(gates * h)) for key in biases})
        x = rand(n, t, d)
        tag = "_%d_steps" % t
        check(name + tag, "l(x)", lambda make=make, **w: recurrent(make, **w), {"x": x}, "nn.%s(%d, %d)" % (name, d, h), weights)
        check(name + "_last" + tag, "l.last(x)", lambda make=make, **w: recurrent(make, **w)[:, -1], {"x": x}, "nn.%s(%d, %d)" % (name, d, h), weights)

# Optimisers: the loss is sum(p * c), so the gradient is c; three steps with different gradients.


class Lion:
    """Chen et al. 2023, algorithm 2; PyTorch has none."""

    def __init__(self, p, lr, beta1=0.9, beta2=0.99, weight_decay=0.0):
        self.p, self.lr, self.beta1, self.beta2, self.weight_decay = p, lr, beta1, beta2, weight_decay
        self.m = torch.zeros_like(p)

    def zero_grad(self):
        self.p.grad = None

    @torch.no_grad()
    def step(self):
        g = self.p.grad
        update = torch.sign(self.beta1 * self.m + (1 - self.beta1) * g)
        self.p -= self.lr * (update + self.weight_decay * self.p)
        self.m = self.beta2 * self.m + (1 - self.beta2) * g


OPTIMISERS = {
    "sgd": ("optim.sgd(lr = 0.1)", lambda p: torch.optim.SGD([p], lr=0.1)),
    "sgd_decay": ("optim.sgd(lr = 0.1, weight_decay = 0.25)", lambda p: torch.optim.SGD([p], lr=0.1, weight_decay=0.25)),
    "momentum": ("optim.momentum(lr = 0.1, mu = 0.75)", lambda p: torch.optim.SGD([p], lr=0.1, momentum=0.75)),
    "nesterov": ("optim.momentum(lr = 0.1, mu = 0.75, nesterov = true, weight_decay = 0.25)",
                 lambda p: torch.optim.SGD([p], lr=0.1, momentum=0.75, nesterov=True, weight_decay=0.25)),
    "adam": ("optim.adam(lr = 0.1)", lambda p: torch.optim.Adam([p], lr=0.1)),
    "adam_betas": ("optim.adam(lr = 0.1, beta1 = 0.5, beta2 = 0.75, eps = 0.125)",
                   lambda p: torch.optim.Adam([p], lr=0.1, betas=(0.5, 0.75), eps=0.125)),
    "rmsprop": ("optim.rmsprop(lr = 0.1, alpha = 0.75, eps = 1e-3)", lambda p: torch.optim.RMSprop([p], lr=0.1, alpha=0.75, eps=1e-3)),
    "rmsprop_decay": ("optim.rmsprop(lr = 0.1, weight_decay = 0.25)", lambda p: torch.optim.RMSprop([p], lr=0.1, weight_decay=0.25)),
    "lion": ("optim.lion(lr = 0.1)", lambda p: Lion(p, 0.1)),
    "lion_decay": ("optim.lion(lr = 0.1, beta1 = 0.5, beta2 = 0.75, weight_decay = 0.25)", lambda p: Lion(p, 0.1, 0.5, 0.75, 0.25)),
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

# Clipping: the gradients of two params of a module together.
for name, call, torch_function in (
        ("clip_by_norm", "let (h, norm) = optim.clip_by_norm(grad(loss, net), 1.5)", lambda p: torch.nn.utils.clip_grad_norm_(p, 1.5)),
        ("clip_by_norm_small", "let (h, norm) = optim.clip_by_norm(grad(loss, net), 1000.0)", lambda p: torch.nn.utils.clip_grad_norm_(p, 1000.0)),
        ("clip_by_value", "let h = optim.clip_by_value(grad(loss, net), 0.5)\n  let norm = norm(grad(loss, net))",
         lambda p: (torch.nn.utils.get_total_norm([q.grad for q in p]), torch.nn.utils.clip_grad_value_(p, 0.5))[0])):
    net = torch.nn.Linear(5, 2)
    w, b = rand(5, 2), rand(2)
    net.weight.data, net.bias.data = w.T.clone(), b.clone()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.5)
    calls = [{"write": {"net.w": pack(w), "net.b": pack(b)}}]
    for _ in range(3):
        x = rand(3, 5)
        optimiser.zero_grad()
        loss = (net(x) ** 2).sum()
        loss.backward()
        norm = torch_function(list(net.parameters()))
        optimiser.step()
        calls.append({"entry": "train", "inputs": {"x": pack(x)}, "results": {"norm": pack(norm)}})
        calls.append({"entry": "get", "inputs": {}, "results": {"w": pack(net.weight.T.contiguous()), "b": pack(net.bias)}})
    case(name, """use nn, optim
dim B = 3
layer net = nn.Linear(5, 2)
step train(x: f32[B, 5]) -> (norm: f32) {
  let y = net(x)
  let loss = sum(y * y)
  %s
  apply h to net with optim.sgd(lr = 0.5)
  (norm)
}
export fn get() -> (w: f32[5, 2], b: f32[2]) { (net.w, net.b) }
""" % call, calls)

# The moving average of a model.
net = torch.nn.Linear(5, 2)
w, b = rand(5, 2), rand(2)
net.weight.data, net.bias.data = w.T.clone(), b.clone()
average = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.75))
average.update_parameters(net)
optimiser = torch.optim.SGD(net.parameters(), lr=0.125)
calls = [{"write": {"net.w": pack(w), "net.b": pack(b), "average.w": pack(w), "average.b": pack(b)}}]
for _ in range(3):
    x = rand(3, 5)
    optimiser.zero_grad()
    (net(x) * x[:, :2]).sum().backward()
    optimiser.step()
    average.update_parameters(net)
    calls.append({"entry": "train", "inputs": {"x": pack(x)}, "results": {}})
    calls.append({"entry": "get", "inputs": {},
                  "results": {"w": pack(average.module.weight.T.contiguous()), "b": pack(average.module.bias), "now": pack(net.bias)}})
case("ema", """use nn, optim
dim B = 3
layer net = nn.Linear(5, 2)
layer average = nn.Linear(5, 2)
step train(x: f32[B, 5]) -> (loss: f32) {
  let loss = sum(net(x) * x[:, 0:2])
  minimize loss over net with optim.sgd(lr = 0.125)
  apply net to average with optim.ema(decay = 0.75)
  (loss)
}
export fn get() -> (w: f32[5, 2], b: f32[2], now: f32[2]) { (average.w, average.b, net.b) }
""", calls)

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
p = torch.zeros(1, requires_grad=True)
optimiser = torch.optim.SGD([p], lr=0.5)
schedule = torch.optim.lr_scheduler.StepLR(optimiser, step_size=3, gamma=0.25)
calls = []
for step in range(10):
    calls.append({"entry": "f", "inputs": {"it": pack(torch.tensor(step), "i64")},
                  "results": {"lr": pack(torch.tensor(schedule.get_last_lr()[0]))}})
    optimiser.step()
    schedule.step()
case("step", "use optim\nexport fn f(it: i64) -> (lr: f32) { (optim.step(it, peak = 0.5, every = 3, factor = 0.25)) }\n", calls)
calls = []
for step in range(6):
    rate = 0.5 * min(1.0, (step + 1) / 4)
    calls.append({"entry": "f", "inputs": {"it": pack(torch.tensor(step), "i64")}, "results": {"lr": pack(torch.tensor(rate))}})
case("constant", "use optim\nexport fn f(it: i64) -> (lr: f32) { (optim.constant(it, peak = 0.5, warmup = 4)) }\n", calls)

# Attention with rotary places; here, so that the numbers above stay as they are.
weights = {"qkv.w": f32(0.4 * rand(8, 24)), "qkv.b": rand(24), "out.w": f32(0.4 * rand(8, 8)), "out.b": rand(8)}


def rotated_heads(x, **w):
    q, k, v = (x @ w["qkv_w"] + w["qkv_b"]).reshape(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
    o = F.scaled_dot_product_attention(rotate(q, 10000.0), rotate(k, 10000.0), v, is_causal=True)
    return o.permute(0, 2, 1, 3).reshape(2, 5, 8) @ w["out_w"] + w["out_b"]


check("MultiHeadAttention_rotate", "l(x)", rotated_heads, {"x": rand(2, 5, 8)}, "nn.MultiHeadAttention(8, 2, causal = true, rotate = true)", weights)

with open(sys.argv[1], "w") as out:
    # A line for each case.
    out.write('{"torch": "%s", "rtol": 1e-5, "atol": 1e-6, "cases": [\n' % torch.__version__)
    out.write(",\n".join(json.dumps(entry) for entry in cases))
    out.write("\n]}\n")
print("%d cases" % len(cases))

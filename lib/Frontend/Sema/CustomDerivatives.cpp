//===- CustomDerivatives.cpp - Derivatives written by hand -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checker.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::Twine;

/// Builds `vjp (args…, result, d_result) -> (d_args…)`; d_args are those of
/// the float arguments. `bound` still holds the sizes of the call.
void Checker::buildVjp(const CallTarget &target, Frame &bound,
                       ArrayRef<Val> args, Instantiation *inst) {
  const ast::FnDecl *fn = target.fn;
  const ast::Vjp *vjp = fn->vjp;
  typed::Function *primal = inst->function;
  if (!inst->reads.empty()) {
    report(Diag::VjpReadsVariable, vjp->range) << fn->name.name;
    inst->failed = true;
    return;
  }
  if (primal->results.size() != 1) {
    report(Diag::NotSupportedYet, vjp->range)
        << "a custom derivative of several results";
    inst->failed = true;
    return;
  }
  Type resultType = inst->result.type;
  // An integer instantiation has no derivative.
  if (!typed::isFloat(resultType.elem))
    return;
  if (vjp->params.size() != fn->params.size() + 2) {
    report(Diag::VjpParams, vjp->range).label(fn->signature, "declared here")
        << Twine(fn->params.size() + 2) << Twine(vjp->params.size());
    inst->failed = true;
    return;
  }
  program.functions.emplace_back();
  typed::Function &out = program.functions.back();
  out.name = primal->name + ".vjp";
  out.range = vjp->range;
  FnState state;
  state.out = &out;
  FnState *outerState = bound.state;
  bound.state = &state;
  bound.push();
  auto addArgument = [&](const ast::Ident &name, const Type &type) {
    Node *node = makeNode(Op::Argument, type, {}, name.range);
    node->number = out.inputs.size();
    node->name = name.name;
    out.inputs.push_back({name.name.str(), type, name.range});
    Val val = Val::makeTensor({node, 0});
    val.origin = name.range;
    bound.bind(name.name, val);
  };
  std::vector<Type> wanted;
  size_t input = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].kind != Val::Tensor) {
      bound.bind(vjp->params[i].name, args[i]);
      continue;
    }
    Type type = primal->inputs[input++].type;
    addArgument(vjp->params[i], type);
    if (typed::isFloat(type.elem))
      wanted.push_back(type);
  }
  addArgument(vjp->params[args.size()], resultType);
  addArgument(vjp->params[args.size() + 1], resultType);

  llvm::SmallVector<std::optional<Elem>, 4> elems;
  for (const Type &type : wanted)
    elems.push_back(type.elem);
  Expect expect;
  expect.tuple = elems;
  if (elems.size() == 1)
    expect.elem = elems.front();
  Val result = runBlock(vjp->body, expect);
  Range range = vjp->body->value ? vjp->body->value->range : vjp->range;
  bool good = !result.isError();
  ArrayRef<Val> results = result;
  if (result.kind == Val::Tuple)
    results = result.elems;
  if (good && (results.size() != wanted.size() || result.kind == Val::Unit)) {
    report(Diag::VjpResults, range).label(fn->signature, "declared here")
        << Twine(wanted.size())
        << Twine(result.kind == Val::Unit ? 0 : results.size());
    good = false;
  }
  for (size_t i = 0; good && i < results.size(); ++i) {
    Value value = materialise(results[i], range, wanted[i].elem);
    good = bool(value);
    // A number stands for that many of it, as in `let` with a type; a computed
    // scalar is more likely a sum too many.
    if (good && value.node->op == Op::Constant && value.type().isScalar() &&
        value.type().elem == wanted[i].elem)
      value = makeBroadcast(value, wanted[i].axes, range);
    if (good && !isSame(value.type(), wanted[i])) {
      report(Diag::VjpType, range).label(fn->signature, "declared here")
          << toString(value.type()) << toString(wanted[i]);
      good = false;
    }
    if (good)
      out.results.push_back({"", value, range});
  }
  bound.pop();
  bound.state = outerState;
  if (!state.vars.empty()) {
    report(Diag::VjpReadsVariable, vjp->range) << fn->name.name;
    good = false;
  }
  if (!good) {
    inst->failed = true;
    return;
  }
  primal->vjp = &out;
  program.order.push_back(&out);
}

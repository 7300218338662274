//===- RandomProgram.h - random entries in the tds dialect -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TEST_UNIT_FUSION_RANDOMPROGRAM_H
#define TDSL_TEST_UNIT_FUSION_RANDOMPROGRAM_H

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tdsl::test {

struct RandomProgramOptions {
  unsigned operations = 12;
  /// Sums and contractions of floats. Without them fusion must not change a
  /// bit.
  bool floatReductions = true;
};

/// The text of a module with variables @v0, @v1, … and one entry @f of kind
/// "step". The same seed gives the same text. Float values stay of moderate
/// size; operations that jump (comparisons, argmax, gathers) see only values
/// that no float reduction went into, so that a difference in rounding stays a
/// difference in rounding.
class RandomProgram {
public:
  RandomProgram(uint64_t seed, const RandomProgramOptions &options)
      : random(seed), options(options) {}

  std::string make() {
    for (int i = 0; i < 3; ++i)
      addArgument(/*isVariable=*/false, i == 2 ? "i32" : "f32");
    unsigned numVariables = 1 + pick(3);
    for (unsigned i = 0; i < numVariables; ++i)
      addArgument(/*isVariable=*/true, "f32");
    for (unsigned i = 0; i < options.operations; ++i)
      addOperation();
    return finish();
  }

private:
  struct Value {
    std::string name;
    std::vector<int64_t> shape;
    std::string element;
    /// A float reduction went into it.
    bool rounded = false;
  };

  unsigned pick(unsigned below) {
    return below == 0
               ? 0
               : std::uniform_int_distribution<unsigned>(0, below - 1)(random);
  }

  static std::string list(const std::vector<int64_t> &numbers) {
    std::string text;
    for (size_t i = 0; i < numbers.size(); ++i)
      text += (i ? ", " : "") + std::to_string(numbers[i]);
    return text;
  }

  static std::string typeOf(const std::vector<int64_t> &shape,
                            const std::string &element) {
    std::string text = "tensor<";
    for (int64_t extent : shape)
      text += std::to_string(extent) + "x";
    return text + element + ">";
  }
  static std::string typeOf(const Value &value) {
    return typeOf(value.shape, value.element);
  }

  static int64_t product(const std::vector<int64_t> &shape) {
    int64_t size = 1;
    for (int64_t extent : shape)
      size *= extent;
    return size;
  }

  std::vector<int64_t> pickShape() {
    static const int64_t extents[] = {1, 2, 3, 4, 6};
    std::vector<int64_t> shape(pick(4));
    for (int64_t &extent : shape)
      extent = extents[pick(5)];
    return shape;
  }

  void addArgument(bool isVariable, const std::string &element) {
    Value value{"%a" + std::to_string(values.size()), pickShape(), element};
    std::string attribute;
    if (isVariable) {
      std::string variable = "@v" + std::to_string(variables.size());
      header += "tds.variable " + variable +
                (variables.size() % 2 ? " state" : " param") + " : " +
                typeOf(value) + "\n";
      variables.push_back(value);
      attribute = "tds.variable = " + variable;
    } else {
      attribute = "tds.input = \"" + value.name.substr(1) + "\"";
    }
    arguments += (arguments.empty() ? "" : ", ") + value.name + ": " +
                 typeOf(value) + " {" + attribute + "}";
    values.push_back(value);
  }

  /// A new value, with the text that computes it behind its name.
  void add(Value value, const std::string &text) {
    value.name = "%x" + std::to_string(counter++);
    body += "  " + value.name + " = " + text + "\n";
    values.push_back(value);
  }

  const Value *pickValue(const std::string &element, bool mayBeRounded = true,
                         int leastRank = 0) {
    std::vector<const Value *> found;
    for (const Value &value : values)
      if (value.element == element && (mayBeRounded || !value.rounded) &&
          static_cast<int>(value.shape.size()) >= leastRank)
        found.push_back(&value);
    // Late values make chains.
    if (found.empty())
      return nullptr;
    return pick(2) ? found.back() : found[pick(found.size())];
  }

  const Value *pickSame(const Value &like, bool mayBeRounded = true) {
    std::vector<const Value *> found;
    for (const Value &value : values)
      if (value.element == like.element && value.shape == like.shape &&
          (mayBeRounded || !value.rounded))
        found.push_back(&value);
    return found.empty() ? nullptr : found[pick(found.size())];
  }

  void addOperation() {
    switch (pick(14)) {
    case 0:
    case 1:
      return addUnary();
    case 2:
    case 3:
    case 4:
      return addBinary();
    case 5:
      return addBroadcast();
    case 6:
      return addTranspose();
    case 7:
    case 8:
      return addReduce();
    case 9:
      return addReshape();
    case 10:
      return addContract();
    case 11:
      return addSelect();
    case 12:
      return pick(2) ? addWindow() : addReverse();
    default:
      return pick(2) ? addGather() : addScatter();
    }
  }

  void addUnary() {
    if (pick(5) == 0) {
      const Value *value = pickValue("i32");
      if (!value)
        return;
      Value result{"", value->shape, "f32"};
      add(result, "tds.cast " + value->name + " : " + typeOf(*value) + " to " +
                      typeOf(result));
      return;
    }
    static const char *names[] = {"tanh", "neg", "abs", "sigmoid", "cos"};
    const Value *value = pickValue("f32");
    std::string type = typeOf(*value);
    add(*value, std::string("tds.") + names[pick(5)] + " " + value->name +
                    " : " + type);
  }

  void addBinary() {
    const Value *lhs = pickValue(pick(6) ? "f32" : "i32");
    if (!lhs)
      return;
    const Value *rhs = pickSame(*lhs);
    static const char *names[] = {"add", "sub", "max", "min"};
    Value result = *lhs;
    result.rounded |= rhs->rounded;
    add(result, std::string("tds.") + names[pick(4)] + " " + lhs->name + ", " +
                    rhs->name + " : " + typeOf(*lhs));
  }

  void addBroadcast() {
    const Value *value = pickValue(pick(6) ? "f32" : "i32");
    if (!value || value->shape.size() > 2 || product(value->shape) > 100)
      return;
    Value result = *value;
    unsigned axis = pick(value->shape.size() + 1);
    result.shape.insert(result.shape.begin() + axis, 2 + pick(3));
    std::vector<int64_t> axes;
    for (size_t i = 0; i < result.shape.size(); ++i)
      if (i != axis)
        axes.push_back(i);
    for (size_t i = 0; i < value->shape.size(); ++i)
      if (value->shape[i] == 1 && pick(2))
        result.shape[axes[i]] = 3;
    add(result, "tds.broadcast " + value->name + " axes [" + list(axes) +
                    "] : " + typeOf(*value) + " to " + typeOf(result));
  }

  void addTranspose() {
    const Value *value = pickValue("f32", true, 2);
    if (!value)
      return;
    std::vector<int64_t> permutation;
    for (size_t i = 0; i < value->shape.size(); ++i)
      permutation.push_back(i);
    std::shuffle(permutation.begin(), permutation.end(), random);
    Value result = *value;
    for (size_t i = 0; i < permutation.size(); ++i)
      result.shape[i] = value->shape[permutation[i]];
    add(result, "tds.transpose " + value->name + " [" + list(permutation) +
                    "] : " + typeOf(*value) + " to " + typeOf(result));
  }

  void addReduce() {
    unsigned choice = pick(5);
    bool sums = choice < 2 && options.floatReductions;
    bool isArg = choice == 4;
    const Value *value = pickValue("f32", !isArg, 1);
    if (!value)
      return;
    std::vector<int64_t> axes;
    for (size_t i = 0; i < value->shape.size(); ++i)
      if (pick(2))
        axes.push_back(i);
    if (axes.empty() || isArg)
      axes = {static_cast<int64_t>(pick(value->shape.size()))};
    Value result{"", {}, isArg ? "i32" : "f32", value->rounded || sums};
    for (size_t i = 0; i < value->shape.size(); ++i)
      if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) ==
          axes.end())
        result.shape.push_back(value->shape[i]);
    add(result, std::string("tds.reduce ") +
                    (isArg  ? "argmax"
                     : sums ? "sum"
                            : "max") +
                    " " + value->name + " axes [" + list(axes) +
                    "] : " + typeOf(*value) + " to " + typeOf(result));
  }

  void addReshape() {
    const Value *value = pickValue(pick(6) ? "f32" : "i32");
    if (!value)
      return;
    Value result = *value;
    result.shape.clear();
    int64_t rest = product(value->shape);
    for (int64_t factor : {2, 3})
      if (rest % factor == 0 && pick(2)) {
        result.shape.push_back(factor);
        rest /= factor;
      }
    if (rest != 1 || pick(2))
      result.shape.insert(result.shape.begin() + pick(result.shape.size() + 1),
                          rest);
    if (pick(4) == 0)
      result.shape.insert(result.shape.begin() + pick(result.shape.size() + 1),
                          1);
    add(result, "tds.reshape " + value->name + " : " + typeOf(*value) + " to " +
                    typeOf(result));
  }

  void addContract() {
    if (!options.floatReductions)
      return;
    const Value *lhs = pickValue("f32", true, 1),
                *rhs = pickValue("f32", true, 1);
    if (!lhs)
      return;
    for (size_t i = 0; i < lhs->shape.size(); ++i)
      for (size_t j = 0; j < rhs->shape.size(); ++j)
        if (lhs->shape[i] == rhs->shape[j] &&
            product(lhs->shape) * product(rhs->shape) <= 4000) {
          std::vector<int64_t> lhsAxes, rhsAxes, resultAxes;
          Value result{"", {}, "f32", true};
          for (size_t k = 0; k < lhs->shape.size(); ++k) {
            lhsAxes.push_back(k);
            if (k != i) {
              resultAxes.push_back(k);
              result.shape.push_back(lhs->shape[k]);
            }
          }
          for (size_t k = 0; k < rhs->shape.size(); ++k) {
            rhsAxes.push_back(k == j ? i : 10 + k);
            if (k != j) {
              resultAxes.push_back(10 + k);
              result.shape.push_back(rhs->shape[k]);
            }
          }
          add(result, "tds.contract " + lhs->name + "[" + list(lhsAxes) +
                          "], " + rhs->name + "[" + list(rhsAxes) + "] to [" +
                          list(resultAxes) + "] : " + typeOf(*lhs) + ", " +
                          typeOf(*rhs) + " to " + typeOf(result));
          return;
        }
  }

  void addSelect() {
    const Value *lhs = pickValue("f32", false);
    const Value *rhs = pickSame(*lhs, false);
    Value condition{"", lhs->shape, "i1"};
    std::string type = typeOf(*lhs);
    std::string left = lhs->name, right = rhs->name;
    const Value *branch = pickSame(*lhs);
    Value result = *branch;
    std::string other = branch->name;
    add(condition, "tds.compare lt " + left + ", " + right + " : " + type);
    std::string name = values.back().name;
    values.pop_back();
    add(result, "tds.select " + name + ", " + other + ", " + left + " : " +
                    typeOf(condition) + ", " + type);
  }

  std::string indices(size_t rank, const std::string &last = "") {
    std::string text;
    for (size_t i = 0; i < rank; ++i)
      text +=
          (i ? ", " : "") +
          (i + 1 == rank && !last.empty() ? last : "%i" + std::to_string(i));
    return text;
  }

  /// The neighbours along the last axis, with a guard.
  void addWindow() {
    const Value *value = pickValue("f32", true, 1);
    if (!value)
      return;
    std::string type = typeOf(*value),
                last = "%i" + std::to_string(value->shape.size() - 1);
    size_t rank = value->shape.size();
    add(*value,
        "tds.generic (" + indices(rank) + ") in (" + list(value->shape) +
            ") : " + type + " {\n" +
            "    %n = tds.apply affine_map<(d0) -> (d0 + 1)> (" + last + ")\n" +
            "    %p = tds.read " + value->name + "[" + indices(rank) +
            "] : " + type + "\n" + "    %q = tds.read " + value->name + "[" +
            indices(rank, "%n") + "] guard 0.5 : f32 : " + type + "\n" +
            "    %r = tds.sub %p, %q : f32\n    tds.yield %r : f32\n  }");
  }

  /// x + reverse(x) along the last axis.
  void addReverse() {
    const Value *value = pickValue("f32", true, 1);
    if (!value)
      return;
    std::string type = typeOf(*value),
                last = "%i" + std::to_string(value->shape.size() - 1);
    size_t rank = value->shape.size();
    add(*value,
        "tds.generic (" + indices(rank) + ") in (" + list(value->shape) +
            ") : " + type + " {\n" + "    %n = tds.apply affine_map<(d0) -> (" +
            std::to_string(value->shape.back() - 1) + " - d0)> (" + last +
            ")\n" + "    %p = tds.read " + value->name + "[" + indices(rank) +
            "] : " + type + "\n" + "    %q = tds.read " + value->name + "[" +
            indices(rank, "%n") + "] : " + type + "\n" +
            "    %r = tds.max %p, %q : f32\n    tds.yield %r : f32\n  }");
  }

  void addGather() {
    const Value *table = pickValue("f32", true, 1),
                *ids = pickValue("i32", true, 1);
    if (!table || !ids || ids->shape.size() != 1)
      return;
    Value result = *table;
    result.shape[0] = ids->shape[0];
    std::string rest;
    for (size_t i = 1; i < table->shape.size(); ++i)
      rest += ", %i" + std::to_string(i);
    add(result, "tds.generic (" + indices(result.shape.size()) + ") in (" +
                    list(result.shape) + ") : " + typeOf(result) + " {\n" +
                    "    %id = tds.read " + ids->name +
                    "[%i0] : " + typeOf(*ids) + "\n" +
                    "    %at = tds.cast %id : i32 to index\n" +
                    "    %r = tds.read " + table->name + "[%at" + rest +
                    "] guard 0.0 : f32 : " + typeOf(*table) + "\n" +
                    "    tds.yield %r : f32\n  }");
  }

  void addScatter() {
    if (!options.floatReductions)
      return;
    const Value *data = pickValue("f32", true, 1),
                *ids = pickValue("i32", true, 1);
    if (!data || !ids || ids->shape.size() != 1 ||
        data->shape[0] != ids->shape[0])
      return;
    bool isOneHot = pick(2);
    Value result{"", {}, "f32", true};
    if (isOneHot)
      result.shape.push_back(ids->shape[0]);
    result.shape.push_back(3);
    std::string rest, at = isOneHot ? "%i0, %at" : "%at";
    for (size_t i = 1; i < data->shape.size(); ++i) {
      rest += ", %i" + std::to_string(i);
      at += ", %i" + std::to_string(i);
      result.shape.push_back(data->shape[i]);
    }
    add(result, "tds.scatter (" + indices(data->shape.size()) + ") in (" +
                    list(data->shape) + ") : " + typeOf(result) + " {\n" +
                    "    %id = tds.read " + ids->name +
                    "[%i0] : " + typeOf(*ids) + "\n" +
                    "    %at = tds.cast %id : i32 to index\n" +
                    "    %v = tds.read " + data->name + "[%i0" + rest +
                    "] : " + typeOf(*data) + "\n" +
                    "    tds.scatter_yield %v at [" + at + "] : f32\n  }");
  }

  /// The last values are results; a variable's new value is one of its type, or
  /// none.
  std::string finish() {
    std::string types, operands, plain;
    auto give = [&](const Value &value, const std::string &attribute) {
      types +=
          (types.empty() ? "" : ", ") + typeOf(value) + " {" + attribute + "}";
      plain += (plain.empty() ? "" : ", ") + typeOf(value);
      operands += (operands.empty() ? "" : ", ") + value.name;
    };
    size_t first = values.size() > 3 ? values.size() - 3 : 0;
    for (size_t i = first; i < values.size(); ++i)
      give(values[i], "tds.result = \"r" + std::to_string(i) + "\"");
    for (size_t i = 0; i < variables.size(); ++i)
      if (pick(4))
        give(*pickSame(variables[i]), "tds.variable = @v" + std::to_string(i));
    return header + "func.func @f(" + arguments + ") -> (" + types +
           ") attributes {tds.entry = \"step\"} {\n" + body + "  return " +
           operands + " : " + plain + "\n}\n";
  }

  std::mt19937_64 random;
  RandomProgramOptions options;
  std::string header, arguments, body;
  std::vector<Value> values, variables;
  unsigned counter = 0;
};

} // namespace tdsl::test

#endif // TDSL_TEST_UNIT_FUSION_RANDOMPROGRAM_H

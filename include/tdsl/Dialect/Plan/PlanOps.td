//===- PlanOps.td - the plan dialect: memory and commands of the entries -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_PLAN_PLANOPS_TD
#define TDSL_DIALECT_PLAN_PLANOPS_TD

include "tdsl/Dialect/Plan/PlanEnums.td"
include "tdsl/Dialect/TDS/TDSBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::tdsl::plan";
  let summary = "Where every tensor lies, and the commands of every entry in order";
  let description = [{
    What memory planning leaves, one to one what the manifest of the artefact lists. A planned module holds

    - each `tds.variable`, with the attributes `plan.slab` and `plan.offset`: its place in a slab,
    - a `plan.slab` for each pair of role and element type, and a `plan.constant` for each tensor of known data,
    - each kernel once, as a private function `@tds_k<N>_<kind>` that holds one `tds.kernel` and returns its results, with the attributes
      `plan.in_place` (for each output the number of the input whose buffer it shares, or -1) and `plan.disjoint` (unit: no two buffers overlap),
    - a `plan.entry` for each entry point, with the attribute `plan.peak`: what is in memory when it uses most (the number of the `command`, the
      `live` bytes of the arena there, the `largest` tensors).
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

def Plan_BufferAttr : AttrDef<Plan_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a range of bytes in a space";
  let description = [{
    `index` is the number of the slab or constant, and 0 in the other spaces. Prints as `slab[1] 512 + 1024` for the 1024 bytes behind offset 512.

    Inside loops the range may move: `strides[d]` bytes for each iteration of the loop at depth d (0 is the outermost), which has `trips[d]` of them. Prints as
    `arena[0] 512 + 64 by 64 * 16`. Where trailing strides are 0 they are left out.

    `counter[d] 0 + 4` is no memory but the number of the iteration of the loop at depth d, an i32 that a kernel gets as a size argument.
  }];
  let parameters = (ins "::tdsl::plan::Space":$space, "int64_t":$index, "int64_t":$offset, "int64_t":$bytes,
                        ArrayRefParameter<"int64_t">:$strides, ArrayRefParameter<"int64_t">:$trips);
  let builders = [
    AttrBuilder<(ins "::tdsl::plan::Space":$space, "int64_t":$index, "int64_t":$offset, "int64_t":$bytes), [{
      return $_get($_ctxt, space, index, offset, bytes, ::llvm::ArrayRef<int64_t>(), ::llvm::ArrayRef<int64_t>());
    }]>
  ];
  let assemblyFormat = "`<` custom<Buffer>($space, $index, $offset, $bytes, $strides, $trips) `>`";
  let extraClassDeclaration = [{
    /// The end of the range in the first iteration of all loops.
    int64_t getEnd() const { return getOffset() + getBytes(); }
    /// The end of all that the range is in any iteration.
    int64_t getSpanEnd() const {
      int64_t end = getEnd();
      for (auto [stride, trips] : ::llvm::zip(getStrides(), getTrips()))
        end += stride * ::std::max<int64_t>(trips - 1, 0);
      return end;
    }
    /// All that the range is in any iteration.
    BufferAttr getSpan() const {
      return get(getContext(), getSpace(), getIndex(), getOffset(), getSpanEnd() - getOffset());
    }
    /// Whether the two ranges may have a byte in common in one iteration.
    bool overlaps(BufferAttr other) const {
      if (getSpace() != other.getSpace() || getIndex() != other.getIndex() || getBytes() == 0 || other.getBytes() == 0 ||
          getSpace() == Space::Counter)
        return false;
      // Where both move alike they keep their distance.
      int64_t end = getEnd(), otherEnd = other.getEnd();
      for (size_t d = 0; d < ::std::max(getStrides().size(), other.getStrides().size()); ++d) {
        int64_t stride = d < getStrides().size() ? getStrides()[d] : 0;
        int64_t otherStride = d < other.getStrides().size() ? other.getStrides()[d] : 0;
        if (stride == otherStride)
          continue;
        end += stride ? stride * ::std::max<int64_t>(getTrips()[d] - 1, 0) : 0;
        otherEnd += otherStride ? otherStride * ::std::max<int64_t>(other.getTrips()[d] - 1, 0) : 0;
      }
      return getOffset() < otherEnd && other.getOffset() < end;
    }
  }];
}

def Plan_BufferArray : TypedArrayAttrBase<Plan_BufferAttr, "buffers">;

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

def Plan_SlabOp : Plan_Op<"slab", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "storage of all variables of one role and element type";
  let description = [{
    The order of the slabs is their numbering.

    ```mlir
    plan.slab param f32 bytes 813568
    ```
  }];
  let arguments = (ins TDS_VariableRole:$role, TypeAttr:$element, I64Attr:$bytes);
  let assemblyFormat = "$role $element `bytes` $bytes attr-dict";
}

def Plan_ConstantOp : Plan_Op<"constant", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "data that is uploaded once, when the artefact is loaded";
  let description = [{
    The order of the constants is their numbering.

    ```mlir
    plan.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let assemblyFormat = "$value attr-dict";
}

def Plan_EntryOp : Plan_Op<"entry", [Symbol, HasParent<"::mlir::ModuleOp">, NoTerminator, SingleBlock]> {
  let summary = "an entry point: its slots, its memory, its commands";
  let description = [{
    The body holds `plan.input` and `plan.result`, in order, and then the commands. `arena`, `input_bytes` and `result_bytes` are sizes in bytes.
    `scratch` is the least size of the scratch memory of each CPU thread.

    Constraints:
    1. (entry_c1) every buffer of a command lies inside its space.
    2. (entry_c2) no command writes a constant, nor an input that is not `donated`.
    3. (entry_c3) a range moves with the loops that its command stands in, by their trips; a counter is one of these loops', and read by a launch only.

    ```mlir
    plan.entry @train "step" arena 4096 input 512 result 256 scratch 0 {
      plan.input "x" : tensor<4xf32> at 0
      plan.result "loss" : tensor<f32> at 0
      plan.launch @tds_k0_loop (<input[0] 0 + 16>) -> (<result[0] 0 + 4>)
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind, I64Attr:$arena, I64Attr:$input_bytes,
                       I64Attr:$result_bytes, I64Attr:$scratch);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $kind `arena` $arena `input` $input_bytes `result` $result_bytes `scratch` $scratch
    attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBlock() { return &getBody().front(); }
  }];
}

def Plan_InputOp : Plan_Op<"input", [HasParent<"EntryOp">]> {
  let summary = "an input of an entry and its place in the input slot";
  let description = [{
    `data_axis`: axis 0 is the batch. `default`: the value where the caller gives none. `role`: "weight" for row weights.
    `donated`: commands write other values to the place of the input when it has been read; after a call its bytes are lost.

    ```mlir
    plan.input "x" : tensor<64x784xf32> at 0 {data_axis}
    ```
  }];
  let arguments = (ins StrAttr:$name, TypeAttr:$type, I64Attr:$offset, UnitAttr:$data_axis,
                       OptionalAttr<AnyAttr>:$default_value, OptionalAttr<StrAttr>:$role, UnitAttr:$donated);
  let assemblyFormat = "$name `:` $type `at` $offset (`default` $default_value^)? attr-dict";
}

def Plan_ResultOp : Plan_Op<"result", [HasParent<"EntryOp">]> {
  let summary = "a result of an entry and its place in the result slot";
  let description = "\n\n```mlir\nplan.result \"loss\" : tensor<f32> at 0\n```\n";
  let arguments = (ins StrAttr:$name, TypeAttr:$type, I64Attr:$offset, UnitAttr:$data_axis);
  let assemblyFormat = "$name `:` $type `at` $offset attr-dict";
}

def Plan_LaunchOp : Plan_Op<"launch", [ParentOneOf<["EntryOp", "LoopOp"]>]> {
  let summary = "runs a kernel";
  let description = [{
    `inputs` and `outputs` are those of the kernel, in order; an output that shares an input's buffer (`plan.in_place`) is equal to it. The buffers that the
    kernel is given are the inputs and then the outputs that share none. `origin` is the number of the kernel in the block that was planned, folds counted.

    Constraints:
    1. (launch_c1) the kernel is a private function of the module with as many arguments and results, of as many bytes.
    2. (launch_c2) an output overlaps no other buffer of the launch, except the input that it shares by `plan.in_place`, which it equals.
    3. (launch_c3) a kernel with `plan.disjoint` is given buffers of which no two overlap.

    ```mlir
    plan.launch @tds_k0_loop (<input[0] 0 + 16>) -> (<arena[0] 0 + 16>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Plan_BufferArray:$inputs, Plan_BufferArray:$outputs,
                       OptionalAttr<I64Attr>:$origin);
  let assemblyFormat = "$kernel custom<Buffers>($inputs) `->` custom<Buffers>($outputs) attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The buffers in the order of the kernel's arguments: inputs, then outputs that share no input's buffer.
    ::llvm::SmallVector<BufferAttr> getArguments(::mlir::ArrayRef<int64_t> inPlace);
    /// The depths of the loops whose iteration the kernel gets, in the order of its size arguments.
    ::llvm::SmallVector<int64_t> getCounters();
  }];
}

def Plan_LoopOp : Plan_Op<"loop", [ParentOneOf<["EntryOp", "LoopOp"]>, NoTerminator, SingleBlock]> {
  let summary = "runs commands again and again";
  let description = [{
    Runs its commands `trips` times, for the iterations 0, 1, … `trips` - 1, or with `reverse` from the last one down. In iteration i every range moves by i
    times its stride for this loop.

    `carried`, `slices`, `invariants` and `collected` say where the values of the `tds.fold` are that became the loop, for the check of the plan: what it carries, at the
    beginning and the end of each iteration; what it is given; and where each iteration puts what it collects. What is carried in a range that moves with the loop lies
    one stride further at the end of the iteration, where the next one finds it (with `reverse` one stride before). `origin` is the number of the fold in its block.

    ```mlir
    plan.loop 16 carried (<arena[0] 0 + 32>) slices (<input[0] 0 + 32 by 32 * 16>) invariants () collected () {
      plan.launch @tds_k0_loop (<arena[0] 0 + 32>, <input[0] 0 + 32 by 32 * 16>) -> (<arena[0] 0 + 32>)
    }
    ```
  }];
  let arguments = (ins I64Attr:$trips, UnitAttr:$reverse, Plan_BufferArray:$carried, Plan_BufferArray:$slices,
                       Plan_BufferArray:$invariants, Plan_BufferArray:$collected, OptionalAttr<I64Attr>:$origin);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $trips (`reverse` $reverse^)? `carried` custom<Buffers>($carried) `slices` custom<Buffers>($slices)
    `invariants` custom<Buffers>($invariants)
    `collected` custom<Buffers>($collected) attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    ::mlir::Block *getBlock() { return &getBody().front(); }
  }];
}

def Plan_CopyOp : Plan_Op<"copy", [ParentOneOf<["EntryOp", "LoopOp"]>]> {
  let summary = "copies bytes";
  let description = [{
    Constraint (copy_c1): both buffers have as many bytes, and are equal or disjoint. `plan.why` says why no kernel writes the value there, for the report.

    ```mlir
    plan.copy <arena[0] 0 + 16> to <slab[0] 256 + 16>
    ```
  }];
  let arguments = (ins Plan_BufferAttr:$from, Plan_BufferAttr:$to);
  let assemblyFormat = "$from `to` $to attr-dict";
  let hasVerifier = 1;
}

def Plan_FillOp : Plan_Op<"fill", [ParentOneOf<["EntryOp", "LoopOp"]>]> {
  let summary = "sets every byte to one value";
  let description = [{
    Constraint (fill_c1): the byte is from 0 to 255. `plan.why` is as that of a copy.

    ```mlir
    plan.fill <slab[0] 0 + 1024> with 0
    ```
  }];
  let arguments = (ins Plan_BufferAttr:$to, I64Attr:$byte);
  let assemblyFormat = "$to `with` $byte attr-dict";
  let hasVerifier = 1;
}

#endif // TDSL_DIALECT_PLAN_PLANOPS_TD

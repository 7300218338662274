//===- Notes.cpp - the remarks of the passes ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadPlan.h"

#include "tdsl/Report/Report.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::report;

namespace tdsl::report {

class NoteStreamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit NoteStreamer(NoteLog &log) : log(log) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    Note note;
    switch (remark.getRemarkType()) {
    case llvm::remarks::Type::Passed:
      note.kind = Note::Kind::Passed;
      break;
    case llvm::remarks::Type::Missed:
    case llvm::remarks::Type::Failure:
      note.kind = Note::Kind::Missed;
      break;
    default:
      note.kind = Note::Kind::Analysis;
    }
    note.category = remark.getCategoryName().str();
    note.entry = remark.getFunction().str();
    note.places = getPlaces(remark.getLocation(), log.sourceFolder);
    collectParts(remark.getLocation(), note.parts);
    for (const auto &arg : remark.getArgs())
      addArgument(note, arg);
    log.notes.push_back(std::move(note));
  }

private:
  void addArgument(Note &note, const remark::detail::Remark::Arg &arg) {
    if (arg.key == "Producer") {
      if (auto loc = dyn_cast_or_null<LocationAttr>(
              arg.hasAttribute() ? arg.getAttribute() : Attribute()))
        collectParts(loc, note.producer);
      return;
    }
    if (arg.key == "Other") {
      // Which kernel `another kernel` is, before the reason.
      auto loc = dyn_cast_or_null<LocationAttr>(
          arg.hasAttribute() ? arg.getAttribute() : Attribute());
      std::vector<Place> places =
          loc ? getPlaces(loc, log.sourceFolder) : std::vector<Place>();
      if (!places.empty())
        note.text.insert(std::min(note.text.find(':'), note.text.size()),
                         " (" + places.front().getLine() + ")");
      return;
    }
    // Remarks are sentences, reasons come behind a colon; other fields are for
    // programs.
    if (arg.key == "Remark")
      note.text += arg.val;
    else if (arg.key == "Reason")
      note.text += (note.text.empty() ? "" : ": ") + arg.val;
  }

  NoteLog &log;
};

} // namespace tdsl::report

LogicalResult NoteLog::install(MLIRContext &context) {
  remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis =
      categories.failed = ".*";
  return remark::enableOptimizationRemarks(
      context, std::make_unique<NoteStreamer>(*this),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

//===- SourceLocation.cpp - places in the user's program ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/SourceLocation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace tdsl;

bool tdsl::isStandardModule(StringRef file) { return file.starts_with("<"); }

FileLineColRange tdsl::findPlace(Location loc) {
  if (auto place = dyn_cast<FileLineColRange>(loc))
    return place;
  if (auto name = dyn_cast<NameLoc>(loc))
    return findPlace(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    // The outermost call is in the user's program; a standard module is not.
    if (FileLineColRange place = findPlace(call.getCaller()))
      return place;
    return findPlace(call.getCallee());
  }
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (FileLineColRange place = findPlace(part))
        return place;
  return {};
}

static void collectOwnPlaces(Location loc,
                             SmallVectorImpl<FileLineColRange> &places) {
  if (auto place = dyn_cast<FileLineColRange>(loc)) {
    if (!isStandardModule(place.getFilename()) &&
        !llvm::is_contained(places, place))
      places.push_back(place);
  } else if (auto name = dyn_cast<NameLoc>(loc)) {
    collectOwnPlaces(name.getChildLoc(), places);
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    SmallVector<FileLineColRange> inner;
    collectOwnPlaces(call.getCallee(), inner);
    if (inner.empty())
      collectOwnPlaces(call.getCaller(), inner);
    for (FileLineColRange place : inner)
      if (!llvm::is_contained(places, place))
        places.push_back(place);
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      collectOwnPlaces(part, places);
  }
}

SmallVector<FileLineColRange> tdsl::findOwnPlaces(Location loc) {
  SmallVector<FileLineColRange> places;
  collectOwnPlaces(loc, places);
  return places;
}

static constexpr llvm::StringLiteral kDerivative = "derivative";

Location tdsl::getDerivativeLoc(Location loc) {
  MLIRContext *context = loc.getContext();
  return FusedLoc::get({loc}, StringAttr::get(context, kDerivative), context);
}

bool tdsl::isDerivativeLoc(Location loc) {
  auto fused = dyn_cast<FusedLoc>(loc);
  auto mark =
      fused ? dyn_cast_or_null<StringAttr>(fused.getMetadata()) : StringAttr();
  return mark && mark.getValue() == kDerivative;
}

std::string tdsl::describePlace(FileLineColRange place) {
  if (!place)
    return "";
  return (place.getFilename().getValue() + ":" +
          llvm::Twine(place.getStartLine()) + ":" +
          llvm::Twine(place.getStartColumn()))
      .str();
}

std::string tdsl::describeLocation(Location loc) {
  return describePlace(findPlace(loc));
}

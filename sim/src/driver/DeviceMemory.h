//===- DeviceMemory.h - allocations of a virtual device ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device is an address range that the host cannot touch (PROT_NONE, so a
// host dereference of a device pointer ends as it does with a real device) and
// an alias of the same size that only the simulator uses. Freed ranges are
// reused as late as possible, and a gap follows each allocation, so that a
// stray access finds nothing.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_DRIVER_DEVICEMEMORY_H
#define TDSL_SIM_DRIVER_DEVICEMEMORY_H

#include "exec/Warp.h"

#include <map>
#include <shared_mutex>

namespace tds::sim {

class DeviceMemory {
public:
  DeviceMemory(int ordinal, u64 bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;

  /// False where the address space could not be had.
  bool valid() const { return base != 0; }
  /// An address, or 0 where memory does not suffice. `readOnly`: kernels may
  /// not write it (constants). Zero-size requests are the caller's to refuse.
  u64 allocate(u64 bytes, u64 align = 256, bool readOnly = false);
  /// False if `address` is not the start of an allocation.
  bool release(u64 address);
  /// The allocation that holds `address`.
  bool find(u64 address, Extent &out) const;
  /// Whether all of [address, address + bytes) lies in one allocation.
  bool contains(u64 address, u64 bytes) const;
  bool owns(u64 address) const {
    return address >= base && address < base + size;
  }
  /// The host's alias of a device address that contains() holds for.
  u8 *alias(u64 address) const { return aliasBase + (address - base); }
  u8 *initShadow(u64 address) const {
    return init ? init + (address - base) : nullptr;
  }
  void markWritten(u64 address, u64 bytes);

  u64 totalBytes() const { return size; }
  u64 freeBytes() const;
  u64 allocations() const;

  /// A tag for the next launch; stale tags in the race shadow never match it.
  u32 nextLaunchStamp();

  /// Host memory that the device may use (cuMemHostAlloc). Shared by devices.
  static void addHost(u64 address, u64 bytes);
  static bool removeHost(u64 address);
  static bool findHost(u64 address, Extent &out);

  /// Another device whose memory kernels here may reach.
  void addPeer(DeviceMemory *peer);
  void removePeer(DeviceMemory *peer);

private:
  u64 base = 0, size = 0;
  u8 *aliasBase = nullptr;
  u8 *init = nullptr;
  u32 *race = nullptr;
  struct Live {
    u64 bytes;
    bool readOnly;
  };
  mutable std::shared_mutex mutex;
  std::map<u64, Live> live;
  std::map<u64, u64> freeRanges; // start -> bytes
  u64 cursor = 0;                // where the last allocation ended
  u64 used = 0;
  u32 launchStamp = 0;
  std::vector<DeviceMemory *> peers;
};

} // namespace tds::sim

#endif // TDSL_SIM_DRIVER_DEVICEMEMORY_H

//===- DeviceMemory.cpp - allocations of a virtual device -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "driver/DeviceMemory.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include <sys/mman.h>
#include <unistd.h>

namespace tds::sim {

namespace {

constexpr u64 gapBytes = 512;
// Two 32-bit cells for every byte, the finest granule.
constexpr u64 raceBytesPerByte = 8;
constexpr u8 poison = 0xc7;

void *reserve(u64 bytes, int protection) {
  void *p = mmap(nullptr, bytes, protection,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

struct HostRanges {
  std::shared_mutex mutex;
  std::map<u64, u64> ranges;
};
HostRanges &hostRanges() {
  static HostRanges *r = new HostRanges;
  return *r;
}

} // namespace

DeviceMemory::DeviceMemory(int ordinal, u64 bytes) : size(bytes) {
  int fd = memfd_create("tds-cudasim", MFD_CLOEXEC);
  if (fd < 0)
    return;
  if (ftruncate(fd, (off_t)bytes) == 0) {
    void *alias = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_NORESERVE, fd, 0);
    // A fixed place keeps addresses, and so reports, the same in every run.
    void *wanted = (void *)(0x500000000000ull + (u64)ordinal * (1ull << 40));
    void *range = mmap(wanted, bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (alias != MAP_FAILED && range != MAP_FAILED) {
      aliasBase = (u8 *)alias;
      base = (u64)range;
      init = (u8 *)reserve(bytes, PROT_READ | PROT_WRITE);
      race = (u32 *)reserve(bytes * raceBytesPerByte, PROT_READ | PROT_WRITE);
      freeRanges[base + 4096] = bytes - 4096;
      cursor = base + 4096;
    } else {
      if (alias != MAP_FAILED)
        munmap(alias, bytes);
      if (range != MAP_FAILED)
        munmap(range, bytes);
    }
  }
  close(fd);
}

DeviceMemory::~DeviceMemory() {
  if (!base)
    return;
  munmap((void *)base, size);
  munmap(aliasBase, size);
  if (init)
    munmap(init, size);
  if (race)
    munmap(race, size * raceBytesPerByte);
}

u64 DeviceMemory::allocate(u64 bytes, u64 align, bool readOnly) {
  if (bytes == 0 || bytes > size)
    return 0;
  u64 want = (bytes + 255) / 256 * 256 + gapBytes;
  std::unique_lock<std::shared_mutex> lock(mutex);
  // Next fit: a freed range comes back only after all the others were used.
  auto fits = [&](std::map<u64, u64>::iterator it, u64 &start) {
    start = (it->first + align - 1) / align * align;
    u64 lost = start - it->first;
    return it->second >= lost && it->second - lost >= want;
  };
  auto it = freeRanges.lower_bound(cursor);
  u64 start = 0;
  auto first = it;
  bool found = false, wrapped = false;
  while (true) {
    if (it == freeRanges.end()) {
      if (wrapped)
        break;
      wrapped = true;
      it = freeRanges.begin();
      continue;
    }
    if (wrapped && it == first && first != freeRanges.end())
      break;
    if (fits(it, start)) {
      found = true;
      break;
    }
    ++it;
  }
  if (!found)
    return 0;
  u64 rangeStart = it->first, rangeEnd = it->first + it->second;
  freeRanges.erase(it);
  if (start > rangeStart)
    freeRanges[rangeStart] = start - rangeStart;
  if (start + want < rangeEnd)
    freeRanges[start + want] = rangeEnd - start - want;
  cursor = start + want;
  live[start] = {bytes, readOnly};
  used += want;
  // Poison what will be seen most: reading it shows in results at once.
  memset(alias(start), poison, std::min<u64>(bytes, 4096));
  if (init) {
    // Whole pages are dropped, not written: they come back as zeroes, and an
    // allocation that is never used takes no memory of the host.
    u8 *from = init + (start - base), *to = from + bytes;
    u8 *page = (u8 *)(((u64)from + 4095) & ~4095ull);
    u8 *last = (u8 *)((u64)to & ~4095ull);
    if (last > page && bytes >= (1u << 20)) {
      madvise(page, (size_t)(last - page), MADV_DONTNEED);
      memset(from, 0, (size_t)(page - from));
      memset(last, 0, (size_t)(to - last));
    } else {
      memset(from, 0, bytes);
    }
  }
  return start;
}

bool DeviceMemory::release(u64 address) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  auto it = live.find(address);
  if (it == live.end())
    return false;
  u64 bytes = it->second.bytes;
  u64 range = (bytes + 255) / 256 * 256 + gapBytes;
  live.erase(it);
  used -= range;
  // Give whole pages back to the host.
  u64 lo = (address + 4095) / 4096 * 4096, hi = (address + bytes) / 4096 * 4096;
  if (hi > lo && hi - lo >= (1u << 20)) {
    madvise(alias(lo), hi - lo, MADV_REMOVE);
    if (init)
      madvise(init + (lo - base), hi - lo, MADV_DONTNEED);
  }
  auto inserted = freeRanges.emplace(address, range).first;
  auto next = std::next(inserted);
  if (next != freeRanges.end() &&
      inserted->first + inserted->second == next->first) {
    inserted->second += next->second;
    freeRanges.erase(next);
  }
  if (inserted != freeRanges.begin()) {
    auto before = std::prev(inserted);
    if (before->first + before->second == inserted->first) {
      before->second += inserted->second;
      freeRanges.erase(inserted);
    }
  }
  return true;
}

bool DeviceMemory::find(u64 address, Extent &out) const {
  if (!owns(address)) {
    for (DeviceMemory *peer : peers)
      if (peer->owns(address))
        return peer->find(address, out);
    return findHost(address, out);
  }
  std::shared_lock<std::shared_mutex> lock(mutex);
  auto it = live.upper_bound(address);
  if (it == live.begin())
    return false;
  --it;
  if (address >= it->first + it->second.bytes)
    return false;
  out.lo = it->first;
  out.hi = it->first + it->second.bytes;
  out.delta = (s64)((u64)aliasBase - base);
  out.init = init ? init + (it->first - base) : nullptr;
  out.race = race;
  out.shadowBase = base;
  out.readOnly = it->second.readOnly;
  return true;
}

bool DeviceMemory::contains(u64 address, u64 bytes) const {
  Extent e;
  return owns(address) && find(address, e) && bytes <= e.hi - address;
}

void DeviceMemory::markWritten(u64 address, u64 bytes) {
  if (init)
    memset(init + (address - base), 1, bytes);
}

u64 DeviceMemory::freeBytes() const {
  std::shared_lock<std::shared_mutex> lock(mutex);
  return size - used;
}
u64 DeviceMemory::allocations() const {
  std::shared_lock<std::shared_mutex> lock(mutex);
  return live.size();
}

u32 DeviceMemory::nextLaunchStamp() {
  std::unique_lock<std::shared_mutex> lock(mutex);
  if (++launchStamp >= 1024) {
    // The tags start again, so nothing of the old ones may remain.
    if (race)
      madvise(race, size * raceBytesPerByte, MADV_DONTNEED);
    launchStamp = 1;
  }
  return launchStamp;
}

void DeviceMemory::addHost(u64 address, u64 bytes) {
  std::unique_lock<std::shared_mutex> lock(hostRanges().mutex);
  hostRanges().ranges[address] = bytes;
}
bool DeviceMemory::removeHost(u64 address) {
  std::unique_lock<std::shared_mutex> lock(hostRanges().mutex);
  return hostRanges().ranges.erase(address) != 0;
}
bool DeviceMemory::findHost(u64 address, Extent &out) {
  std::shared_lock<std::shared_mutex> lock(hostRanges().mutex);
  auto it = hostRanges().ranges.upper_bound(address);
  if (it == hostRanges().ranges.begin())
    return false;
  --it;
  if (address >= it->first + it->second)
    return false;
  out = Extent();
  out.lo = it->first;
  out.hi = it->first + it->second;
  return true;
}

void DeviceMemory::addPeer(DeviceMemory *peer) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  if (std::find(peers.begin(), peers.end(), peer) == peers.end())
    peers.push_back(peer);
}
void DeviceMemory::removePeer(DeviceMemory *peer) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  peers.erase(std::remove(peers.begin(), peers.end(), peer), peers.end());
}

} // namespace tds::sim

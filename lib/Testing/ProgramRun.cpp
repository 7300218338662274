//===- ProgramRun.cpp - many random programs -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The child writes one record a program into a pipe: lines `begin SEED`,
// `feature NAME`, `launches TARGET FUSED UNFUSED`, `failure CHECK BYTES`
// followed by the message, `end COUNTS`. A pipe that closes after a `begin`
// means that this program ended the child.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Testing/ProgramRun.h"

#include "tdsl/Testing/RandomProgram.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"

#include <cstdio>
#include <cstring>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tdsl::testing;

/// Second derivatives of a sum over windows that overlap take minutes in the
/// evaluator. What waits and does not compute is ended by the time that passes,
/// which is longer, for machines with other work.
static constexpr unsigned kComputedSeconds = 300, kPassedSeconds = 1800;

/// SIGVTALRM or SIGALRM end the process.
static void limitTime() {
  itimerval limit{};
  limit.it_value.tv_sec = kComputedSeconds;
  setitimer(ITIMER_VIRTUAL, &limit, nullptr);
  limit.it_value.tv_sec = kPassedSeconds;
  setitimer(ITIMER_REAL, &limit, nullptr);
}

static void runChild(int descriptor, uint64_t first, uint64_t last,
                     CheckOptions options) {
  FILE *out = fdopen(descriptor, "w");
  ProgramChecker checker;
  for (uint64_t seed = first; seed < last; ++seed) {
    fprintf(out, "begin %llu\n", static_cast<unsigned long long>(seed));
    fflush(out);
    limitTime();
    RandomProgram program = makeRandomProgram(seed);
    options.seed = seed;
    CheckReport report = checker.check(program.text, options);
    program.features.insert(report.features.begin(), report.features.end());
    for (const std::string &feature : program.features)
      fprintf(out, "feature %s\n", feature.c_str());
    for (const Failure &failure : report.failures) {
      fprintf(out, "failure %zu %s\n", failure.message.size(),
              failure.check.c_str());
      fwrite(failure.message.data(), 1, failure.message.size(), out);
    }
    for (const auto &[target, counts] : report.launches)
      fprintf(out, "launches %s %llu %llu\n", target.c_str(),
              static_cast<unsigned long long>(counts.fused),
              static_cast<unsigned long long>(counts.unfused));
    fprintf(out, "end %u %u %u %llu %llu\n", report.entries, report.gradients,
            report.kernels, static_cast<unsigned long long>(report.exact),
            static_cast<unsigned long long>(report.bounded));
    fflush(out);
  }
  fclose(out);
}

RunResult tdsl::testing::runPrograms(uint64_t first, unsigned count,
                                     const CheckOptions &options,
                                     unsigned stopAfter,
                                     llvm::raw_ostream &os) {
  RunResult result;
  uint64_t next = first, last = first + count;
  while (next < last && (!stopAfter || result.failures < stopAfter)) {
    os.flush();
    int ends[2];
    if (pipe(ends) != 0)
      return result;
    pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      runChild(ends[1], next, last, options);
      _exit(0);
    }
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    char *line = nullptr;
    size_t capacity = 0;
    bool isOpen = false, failed = false;
    std::set<std::string> features;
    while (getline(&line, &capacity, in) > 0) {
      llvm::StringRef text = llvm::StringRef(line).rtrim('\n');
      if (text.consume_front("begin ")) {
        isOpen = true;
        failed = false;
        features.clear();
        (void)text.getAsInteger(10, next);
        ++next;
      } else if (text.consume_front("feature ")) {
        features.insert(text.str());
      } else if (text.consume_front("launches ")) {
        auto [target, numbers] = text.split(' ');
        auto [first, second] = numbers.split(' ');
        uint64_t fused = 0, unfused = 0;
        (void)first.getAsInteger(10, fused);
        (void)second.getAsInteger(10, unfused);
        LaunchCounts &total = result.launches[target.str()];
        ++total.programs;
        total.fused += fused;
        total.unfused += unfused;
        total.fewer += fused < unfused;
        total.more += fused > unfused;
        if (fused > unfused)
          os << "seed " << next - 1 << ": " << fused << " launches on "
             << target << " with fusion, " << unfused << " without\n";
      } else if (text.consume_front("failure ")) {
        auto [size, check] = text.split(' ');
        size_t bytes = 0;
        (void)size.getAsInteger(10, bytes);
        std::string message(bytes, '\0');
        if (fread(message.data(), 1, bytes, in) != bytes)
          break;
        os << "seed " << next - 1 << ": " << check << ": " << message;
        failed = true;
      } else if (text.consume_front("end ")) {
        isOpen = false;
        unsigned long long numbers[5] = {};
        sscanf(line, "end %llu %llu %llu %llu %llu", &numbers[0], &numbers[1],
               &numbers[2], &numbers[3], &numbers[4]);
        ++result.programs;
        result.failures += failed;
        result.entries += numbers[0];
        result.gradients += numbers[1];
        result.kernels += numbers[2];
        result.exact += numbers[3];
        result.bounded += numbers[4];
        bool differentiates = false;
        for (const std::string &feature : features) {
          ++result.features[feature];
          differentiates |= feature.rfind("derivative of a ", 0) == 0;
        }
        result.differentiating += differentiates;
        os.flush();
        if (stopAfter && result.failures >= stopAfter)
          break;
      }
    }
    free(line);
    fclose(in);
    int status = 0;
    waitpid(child, &status, 0);
    if (isOpen) {
      os << "seed " << next - 1 << ": crash: "
         << (WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                 : "the child ends")
         << "\n";
      ++result.programs;
      ++result.failures;
      ++result.crashes;
    }
  }
  return result;
}

/// What random programs have to have: each operation, statement and element
/// type of the language.
static const char kFeatures[] =
    "op +, op -, op *, op /, op //, op %, op **, op @, op neg, op ==, "
    "op !=, op <, op <=, op >, op >=, op and, op or, op not, op exp, "
    "op expm1, op log, op log1p, op sqrt, op rsqrt, op tanh, op sigmoid, "
    "op erf, op sin, op cos, op floor, op ceil, op round, op isnan, "
    "op isfinite, op abs, op sign, op clamp, op pow, op max, op min, "
    "op stop_gradient, op cast, expression if, reduction sum, "
    "reduction max, reduction min, reduction prod, reduction mean, "
    "reduction any, reduction all, reduction argmax, reduction argmin, "
    "reduction norm, reduction in a definition, reduction of a tensor, "
    "op reshape, op transpose, op permute, op concat, op stack, op split, "
    "op pad, op flip, op repeat, op iota, slice, tensor written out, "
    "op random.uniform, op random.normal, op random.bernoulli, op grad, "
    "op value_and_grad, statement let, statement let tuple, "
    "statement index definition, statement dim, statement rebind, "
    "statement for, statement for over layers, statement fold, op checkpoint, "
    "fold of two values, fold in a fold, fold collects, fold without a turn, "
    "fold of one turn, part of a turn, "
    "statement if at compile time, statement assert, "
    "statement assert at run time, statement write, statement minimize, "
    "statement apply, index window, index stride, index diagonal, "
    "index quotient, index remainder, index gather, padded, clamped, "
    "declaration dim, declaration const, declaration param, "
    "declaration state, declaration module, declaration layer, "
    "declaration layer array, declaration export fn, declaration step, "
    "declaration optimizer, declaration import, function with a vjp, "
    "type bool, type i8, type u8, type i32, type i64, type f16, type bf16, "
    "type f32, type f64, size 0, size 1, size prime, "
    "derivative of a window, derivative of a gather, derivative of a fold, "
    "derivative of a reduction, flag raised";

std::vector<std::string> RunResult::findRare() const {
  llvm::SmallVector<llvm::StringRef> wanted;
  llvm::StringRef(kFeatures).split(wanted, ", ");
  std::vector<std::string> rare;
  for (llvm::StringRef feature : wanted) {
    auto it = features.find(feature.str());
    if (it == features.end() || it->second * 100 < programs)
      rare.push_back(feature.str());
  }
  return rare;
}

void RunResult::print(llvm::raw_ostream &os, bool coverage) const {
  os << programs << " programs, " << failures << " with failures (" << crashes
     << " crashes); " << entries << " entries, " << gradients << " gradients, "
     << kernels << " kernels; " << exact << " elements compared bit for bit, "
     << bounded << " within a bound\n";
  if (programs)
    os << llvm::format("%.1f", 100.0 * differentiating / programs)
       << " % differentiate a window, a gather, a fold or a reduction\n";
  for (const auto &[target, counts] : launches)
    os << target << ": " << counts.fused << " launches with fusion, "
       << counts.unfused << " without; fewer in " << counts.fewer << " of "
       << counts.programs << " programs, more in " << counts.more << "\n";
  if (!coverage)
    return;
  for (const auto &[feature, number] : features)
    os << llvm::format("%7u  ", number) << feature << "\n";
  os << "in fewer than one program of a hundred:";
  for (const std::string &feature : findRare())
    os << " " << feature << ",";
  os << "\n";
}

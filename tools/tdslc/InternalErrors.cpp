//===- InternalErrors.cpp - faults of tdslc itself -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After a fatal signal little may be trusted, so the reproducer is prepared
// when the process starts: the command line as one text, and the path of the
// program, whose bytes are copied with plain system calls.
//
//===----------------------------------------------------------------------===//

#include "InternalErrors.h"

#include "Options.h"

#include "llvm/Support/ErrorHandling.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

static std::string commandText;
static std::string programPath;
static const char *reproducer = "tdslc-reproducer.txt";

static void put(int file, const char *text, size_t size) {
  while (size > 0) {
    ssize_t done = write(file, text, size);
    if (done <= 0)
      return;
    text += done;
    size -= done;
  }
}

static void put(int file, const char *text) { put(file, text, strlen(text)); }

void tdslc::failInternally(const char *what) {
  put(2, "tdslc: internal error: ");
  put(2, what);
  put(2, "\n");
  int out = open(reproducer, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (out >= 0) {
    put(out, kProducer);
    put(out, "\n");
    put(out, commandText.data(), commandText.size());
    put(out, "\n\n");
    int in = programPath.empty() ? -1 : open(programPath.c_str(), O_RDONLY);
    if (in >= 0) {
      char block[4096];
      for (ssize_t got; (got = read(in, block, sizeof block)) > 0;)
        put(out, block, got);
      close(in);
    }
    close(out);
    put(2, "The command and the program were written to ");
    put(2, reproducer);
    put(2, "; please send that file with a report.\n");
  }
  _exit(Internal);
}

static void onFatalError(void *, const char *reason, bool) {
  // What LLVM says of standard output at the end, as when the disk is full.
  if (strncmp(reason, "IO failure on output stream", 27) == 0) {
    put(2, "tdslc: standard output cannot be written");
    put(2, reason + 27);
    put(2, "\n");
    _exit(tdslc::ProgramWrong);
  }
  tdslc::failInternally(reason);
}

static void onSignal(int number) { tdslc::failInternally(strsignal(number)); }

void tdslc::installInternalErrorHandlers(int argc, char **argv) {
  for (int i = 0; i < argc; ++i) {
    commandText += (i ? " " : "") + std::string(argv[i]);
    std::string argument = argv[i];
    if (argument.size() > 4 &&
        argument.compare(argument.size() - 4, 4, ".tds") == 0)
      programPath = argument;
  }
  llvm::install_fatal_error_handler(onFatalError);
  // The stack may be what ran out, so handlers get one of their own.
  static char stack[64 * 1024];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP})
    sigaction(number, &action, nullptr);
}

/*===- cudasim.h - what the simulator tells beyond libcuda --------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* libtds_cudasim.so has the interface of libcuda.so.1. A program that knows  *|
|* it runs on the simulator may also ask what the checkers found. Look the    *|
|* functions up with dlsym(); a real driver does not have them.               *|
\*===----------------------------------------------------------------------===*/
#ifndef TDS_CUDASIM_H
#define TDS_CUDASIM_H

#include <stddef.h>

#define TDS_SIM_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/** One fault found while a kernel ran. Strings belong to the simulator and
    stay valid until tdsSimClearReports(). */
typedef struct TdsSimReport {
  const char *kind;    /**< e.g. "shared-race"; docs/Simulator.md lists them */
  const char *kernel;  /**< name of the kernel */
  const char *message; /**< what was seen */
  const char *source;  /**< "file:line[:column]" from .loc, or "" */
  const char *text;    /**< all of it as one sentence, as printed to stderr */
  unsigned block[3];   /**< index of the block */
  unsigned thread[3];  /**< index of the thread, where hasThread is not 0 */
  int hasThread;
  unsigned line; /**< line of the PTX text, 0 if unknown */
} TdsSimReport;

/** Number of reports since the start or the last tdsSimClearReports(). */
TDS_SIM_EXPORT size_t tdsSimReportCount(void);
/** Fills *out with report `index`; 0 if there is none. */
TDS_SIM_EXPORT int tdsSimReport(size_t index, TdsSimReport *out);
/** Forgets all reports. Strings handed out before become invalid. */
TDS_SIM_EXPORT void tdsSimClearReports(void);
/** Changes schedule, seed and checks for the launches that follow, with the
    words of TDS_SIM_SCHEDULE and TDS_SIM_CHECKS (null: unchanged). Returns 0
    if a word is unknown, and then changes nothing. */
TDS_SIM_EXPORT int tdsSimConfigure(const char *schedule,
                                   unsigned long long seed, const char *checks);

/** Sets the architecture ("sm_50" to "sm_90a") in place of TDS_SIM_ARCH. To be
    called before cuInit(); 0 if there is no such architecture, or if the
    simulator already runs as another. */
TDS_SIM_EXPORT int tdsSimSetArch(const char *arch);

#ifdef __cplusplus
}
#endif

#endif /* TDS_CUDASIM_H */

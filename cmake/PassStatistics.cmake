# Run as a script: makes the statistics of the generated passes in SOURCE count with every LLVM, and writes RESULT.
file(READ ${SOURCE} text)
string(REPLACE "::mlir::Pass::Statistic" "::tdsl::PassStatistic" text "${text}")
file(WRITE ${RESULT} "${text}")

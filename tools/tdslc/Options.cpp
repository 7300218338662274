//===- Options.cpp - the command line of tdslc -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "FitMemory.h"

#include "tdsl/Transforms/RollLayers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

namespace cl = llvm::cl;
using llvm::StringRef;

static cl::OptionCategory outputCategory("Output");
static cl::OptionCategory programCategory("Program");
static cl::OptionCategory targetCategory("Target");
static cl::OptionCategory codeCategory("Code");
static cl::OptionCategory otherCategory("Other");

static cl::SubCommand checkCommand("check",
                                   "check a program without compiling it");

static cl::SubCommand fmtCommand("fmt",
                                 "write programs in their standard form");
static cl::SubCommand
    docCommand("doc", "print a page about what a program or a standard module "
                      "declares");

static cl::list<std::string> files(cl::Positional, cl::desc("<files>"),
                                   cl::sub(fmtCommand),
                                   cl::cat(outputCategory));
static cl::opt<bool>
    onlyCheck("check", cl::sub(fmtCommand), cl::cat(outputCategory),
              cl::desc("change nothing; name the files that would change and "
                       "end with exit code 1 if there are any"));
static cl::opt<std::string> docInput(cl::Positional,
                                     cl::desc("<model.tds, nn, optim, init>"),
                                     cl::sub(docCommand),
                                     cl::cat(outputCategory));
static cl::opt<std::string>
    docOutput("o", cl::value_desc("file"), cl::sub(docCommand),
              cl::cat(outputCategory),
              cl::desc("file for the page (default: standard output)"));
static cl::opt<std::string> input(cl::Positional, cl::desc("<model.tds>"),
                                  cl::sub(cl::SubCommand::getTopLevel()),
                                  cl::sub(checkCommand),
                                  cl::cat(outputCategory));
static cl::opt<std::string>
    output("o", cl::value_desc("file"), cl::cat(outputCategory),
           cl::desc("artefact to write: .ptx, .so or .tdsx; with --emit the "
                    "file for the text (default: standard output)"));
static cl::opt<std::string>
    emit("emit", cl::value_desc("stage"), cl::cat(outputCategory),
         cl::desc("print a stage instead: ast, tds, tds-opt, kernels, plan, "
                  "llvm, ptx, cubin, graph (SVG), header (C++)"));
static cl::opt<bool> saveTemps("save-temps", cl::cat(outputCategory),
                               cl::desc("keep every stage beside the output"));
static cl::opt<bool>
    timePasses("time", cl::cat(outputCategory),
               cl::desc("print the time of each stage and pass, and how "
                        "many kernels came from TDS_CACHE"));

static cl::list<std::string>
    defines("D", cl::Prefix, cl::value_desc("name=value"),
            cl::cat(programCategory), cl::sub(cl::SubCommand::getTopLevel()),
            cl::sub(checkCommand), cl::desc("give a `dim` another value"));
static cl::opt<std::string> arch(
    "arch", cl::init("sm_80"), cl::value_desc("sm_XX"), cl::cat(targetCategory),
    cl::desc(
        "GPU architecture of a .ptx (default sm_80; runs on anything newer)"));
static cl::opt<std::string>
    cpu("cpu", cl::init("x86-64-v3"), cl::value_desc("level"),
        cl::cat(targetCategory),
        cl::desc("CPU level: x86-64-v3 (default), -v4, native, or -v2, which "
                 "lacks some of the maths (pow, sin and cos)"));
static cl::list<std::string> targets(
    "targets", cl::CommaSeparated, cl::value_desc("list"),
    cl::cat(targetCategory),
    cl::desc("targets of a .tdsx, as in sm_80,sm_90a,cpu (default sm_80,cpu)"));
static cl::opt<std::string>
    fusion("fusion", cl::init("on"), cl::value_desc("on|off"),
           cl::cat(codeCategory),
           cl::desc("join operations into kernels (default on)"));
static cl::opt<int64_t> rolledLayers(
    "roll-layers", cl::init(tdsl::kDefaultRolledLayers), cl::value_desc("n"),
    cl::cat(codeCategory), cl::sub(cl::SubCommand::getTopLevel()),
    cl::sub(checkCommand),
    cl::desc("make n or more equal layers one loop, so that the code is as "
             "long for 48 layers as for 12 (default 8, where they have 1000 "
             "operations together; 0: never)"));
static cl::opt<std::string> targetDescription(
    "target-description", cl::value_desc("name|file"), cl::cat(codeCategory),
    cl::desc("the device that fusion decides for: t4, v100, a100, h100, h200, "
             "host-cpu or a JSON file (default: by --arch or --cpu)"));
static cl::opt<std::string> fastMath(
    "fast-math", cl::ValueOptional, cl::value_desc("names"),
    cl::cat(codeCategory),
    cl::desc("let results differ from IEEE arithmetic: reassociate (sums and "
             "products in any order), reciprocal (x / y as x * (1 / y)), "
             "finite (no NaN or infinity occurs), signed-zeros (the sign of a "
             "zero does not matter); alone all of them (default none)"));
static cl::opt<std::string>
    amp("amp", cl::value_desc("bf16|f16"), cl::cat(codeCategory),
        cl::desc("mixed precision: contractions multiply 16-bit floats and add "
                 "in f32, activations are stored in 16 bits, variables and "
                 "their updates stay f32; f16 with loss scaling"));
static cl::opt<int64_t>
    accum("accum", cl::init(1), cl::value_desc("N"), cl::cat(codeCategory),
          cl::desc("gradient accumulation: a step takes its gradients from N "
                   "parts of its batch, one after the other, and updates once "
                   "(default 1)"));
static cl::opt<std::string> memoryBudget(
    "memory-budget", cl::value_desc("BYTES|NN%"), cl::cat(codeCategory),
    cl::desc("keep within these bytes (as in 2GiB), or within a part of what a "
             "step keeps at once in its arena, by computing parts of the "
             "forward pass again"));
static cl::opt<bool> unchecked(
    "unchecked", cl::cat(codeCategory),
    cl::desc(
        "do not check that gathers stay in range (they read 0 all the same)"));
static cl::opt<bool> checked(
    "checked", cl::cat(codeCategory),
    cl::desc("test every `assert` that is not known at compile time when the "
             "program runs"));
static cl::opt<bool> checkNumerics(
    "check-numerics", cl::cat(codeCategory),
    cl::desc("check every value for NaN and infinity: a run names the first "
             "operation that makes one, its line, and forward or backward"));
static cl::opt<std::string> explain(
    "explain", cl::ValueOptional, cl::value_desc("code"),
    cl::cat(outputCategory),
    cl::desc("print for each line of the program its kernels, what they move, "
             "what was joined or recognised, and what was refused and why; "
             "with an error code, as in E0401, its entry in the catalogue"));
static cl::opt<std::string>
    report("report", cl::value_desc("file.html"), cl::cat(outputCategory),
           cl::desc("write a page with the same, the code of each kernel, and "
                    "pictures of kernels, memory, roofline and compile time"));
static cl::opt<std::string>
    diagnostics("diagnostics", cl::init("text"), cl::value_desc("text|json"),
                cl::cat(otherCategory), cl::sub(cl::SubCommand::getTopLevel()),
                cl::sub(checkCommand),
                cl::desc("form of the messages (default text)"));
static cl::opt<bool>
    grad("grad", cl::sub(checkCommand), cl::cat(programCategory),
         cl::desc("compare every derivative with central differences in f64"));
static cl::opt<bool>
    verbose("verbose", cl::sub(checkCommand), cl::cat(otherCategory),
            cl::desc("print a line for every variable and direction"));

static cl::extrahelp environment(
    "\nEnvironment:\n\n"
    "  TDS_CACHE=<folder>   - keep the code of each kernel there; later runs, "
    "of any program, compile the kernels only that are not there\n"
    "  TDS_CACHE_SIZE=<MiB> - remove the oldest above this size (default "
    "1024)\n");

[[noreturn]] static void usage(const llvm::Twine &text) {
  llvm::errs() << "tdslc: " << text << "\nTry `tdslc --help`.\n";
  std::exit(tdslc::UsageWrong);
}

static void printVersion(llvm::raw_ostream &os) {
  os << tdslc::kProducer << "\n";
}

/// Options that the documents of the language name and that are not there yet:
/// LLVM would propose others that look alike.
static void refusePlanned(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    StringRef name = argv[i];
    if (!name.consume_front("--"))
      continue;
    name = name.split('=').first;
    for (StringRef planned : {"allow-tf32", "parallel"})
      if (name == planned)
        usage("--" + name + " is planned, but not there yet");
  }
}

/// E and digits.
static bool isErrorCode(StringRef text) {
  return text.consume_front("E") && !text.empty() &&
         llvm::all_of(text, llvm::isDigit);
}

/// An option that was given although nothing asks for it.
static void refuseIdle(const cl::Option &option, bool isUsed,
                       const llvm::Twine &why) {
  if (option.getNumOccurrences() > 0 && !isUsed)
    usage("--" + option.ArgStr + " " + why);
}

/// The names of --fast-math; without one, all.
static tdsl::FastMath parseFastMath() {
  tdsl::FastMath allowed;
  if (fastMath.getNumOccurrences() == 0)
    return allowed;
  std::pair<StringRef, bool *> names[] = {
      {"reassociate", &allowed.reassociate},
      {"reciprocal", &allowed.reciprocal},
      {"finite", &allowed.finite},
      {"signed-zeros", &allowed.signedZeros}};
  llvm::SmallVector<StringRef> words;
  StringRef(fastMath).split(words, ',', -1, false);
  for (StringRef word : words) {
    auto *known = llvm::find_if(
        names, [&](const auto &entry) { return entry.first == word; });
    if (known == std::end(names))
      usage("--fast-math knows reassociate, reciprocal, finite and "
            "signed-zeros, not '" +
            word + "'");
    *known->second = true;
  }
  if (words.empty())
    for (auto &[name, flag] : names)
      *flag = true;
  return allowed;
}

tdslc::Options tdslc::parseOptions(int argc, char **argv) {
  // LLVM registers hundreds of options of its own; users see only ours.
  for (auto *sub : {&cl::SubCommand::getTopLevel(), &checkCommand, &fmtCommand,
                    &docCommand})
    cl::HideUnrelatedOptions({&outputCategory, &programCategory,
                              &targetCategory, &codeCategory, &otherCategory},
                             *sub);
  cl::SetVersionPrinter(printVersion);
  refusePlanned(argc, argv);
  std::string errors;
  llvm::raw_string_ostream errorStream(errors);
  if (!cl::ParseCommandLineOptions(
          argc, argv, "The compiler of TDS, a small tensor language\n",
          &errorStream)) {
    llvm::errs() << errors;
    std::exit(UsageWrong);
  }

  Options options;
  options.input = input;
  options.output = output;
  options.emit = emit;
  options.arch = arch;
  options.cpu = cpu;
  options.targets.assign(targets.begin(), targets.end());
  options.unchecked = unchecked;
  options.checked = checked;
  if (checked && unchecked)
    usage("--checked and --unchecked exclude each other");
  options.checkNumerics = checkNumerics;
  options.amp = amp;
  options.fastMath = parseFastMath();
  options.accum = accum;
  if (options.amp == "f16" && options.fastMath.finite)
    usage("--amp=f16 and --fast-math=finite exclude each other: loss scaling "
          "looks for infinities");
  options.memoryBudget = memoryBudget;
  if (memoryBudget.getNumOccurrences() > 0 && !parseBudget(memoryBudget))
    usage("--memory-budget takes bytes, as in 500000000 or 2GiB (B, kB, MB, "
          "GB, TB, "
          "KiB, MiB, GiB, TiB), or a part, as in 60%, not '" +
          memoryBudget + "'");
  if (accum < 1)
    usage("--accum takes a number from 1 on, not " + llvm::Twine(accum));
  if (amp.getNumOccurrences() > 0 && amp != "bf16" && amp != "f16")
    usage("--amp takes bf16 or f16, not '" + amp + "'");
  options.time = timePasses;
  options.saveTemps = saveTemps;
  options.checkGrad = grad;
  options.verbose = verbose;
  if (checkCommand)
    options.command = Command::Check;
  if (fmtCommand) {
    options.command = Command::Format;
    options.files.assign(files.begin(), files.end());
    options.onlyCheck = onlyCheck;
    if (files.empty())
      usage("which files? Give .tds files, or - for standard input");
    return options;
  }
  if (docCommand) {
    options.command = Command::Document;
    options.input = docInput;
    options.output = docOutput;
    if (options.input.empty())
      usage("about what? Give a .tds file or the name of a standard module");
    return options;
  }
  // `--explain E0401` asks for a code, as `--explain=E0401` does.
  bool isCode = explain.getNumOccurrences() > 0 && explain.empty() &&
                isErrorCode(input) && options.output.empty();
  if (isCode || !explain.empty()) {
    options.command = Command::Explain;
    options.explainCode = isCode ? input : explain;
    return options;
  }
  options.explain = explain.getNumOccurrences() > 0;
  options.report = report;
  if (report.getNumOccurrences() > 0 && report.empty())
    usage("--report takes a file, as in --report=report.html");
  if (!options.report.empty() && options.report == output)
    usage("-o and --report name the same file, '" + options.report + "'");
  if (fusion != "on" && fusion != "off")
    usage("--fusion takes on or off, not '" + fusion + "'");
  options.fusion = fusion == "on";
  if (rolledLayers != 0 && rolledLayers < 2)
    usage("--roll-layers takes 0 or a number of layers from 2 on");
  options.rolledLayers = rolledLayers;
  // A number that is asked for counts, however little the layers do.
  options.rolledOps =
      rolledLayers.getNumOccurrences() > 0 ? 0 : tdsl::kDefaultRolledOps;
  options.targetDescription = targetDescription;
  if (diagnostics != "text" && diagnostics != "json")
    usage("--diagnostics takes text or json, not '" + diagnostics + "'");
  options.jsonDiagnostics = diagnostics == "json";
  for (StringRef define : defines) {
    auto [name, value] = define.split('=');
    int64_t number;
    if (name.empty() || value.getAsInteger(0, number))
      usage("-D takes name=number, not '" + define + "'");
    auto [known, isNew] = options.defines.emplace(name.str(), number);
    if (!isNew && known->second != number)
      usage("-D gives " + name + " the values " + llvm::Twine(known->second) +
            " and " + llvm::Twine(number));
  }
  if (options.input.empty())
    usage("which program? Give a .tds file");
  static constexpr StringRef stages[] = {"",        "ast",   "tds",   "tds-opt",
                                         "kernels", "plan",  "llvm",  "ptx",
                                         "cubin",   "graph", "header"};
  if (!llvm::is_contained(stages, options.emit))
    usage("--emit knows ast, tds, tds-opt, kernels, plan, llvm, ptx, cubin, "
          "graph and header, not '" +
          options.emit + "'");
  if (output.getNumOccurrences() > 1)
    usage("-o is given more than once");
  StringRef extension = llvm::sys::path::extension(options.output);
  if (options.command == Command::Compile) {
    bool isExplained = options.explain || !options.report.empty();
    if (isExplained && !options.emit.empty())
      usage("--explain and --report go with an artefact, or alone, and not "
            "with --emit");
    // Explanations alone are of a GPU and of the CPU.
    bool isOnlyExplained = isExplained && options.output.empty();
    bool hasGPU = isOnlyExplained || options.emit == "ptx" ||
                  options.emit == "cubin" || extension == ".ptx" ||
                  extension == ".tdsx";
    bool hasCPU = options.emit.empty()
                      ? extension != ".ptx"
                      : options.emit != "ptx" && options.emit != "cubin";
    refuseIdle(arch, options.targets.empty() && hasGPU,
               "is for a .ptx, --emit=ptx, --emit=cubin and a .tdsx without "
               "--targets; elsewhere --targets names the GPU");
    refuseIdle(cpu, hasCPU, "is for code of a CPU, and this has none");
    refuseIdle(saveTemps, !options.output.empty() && options.emit.empty(),
               "keeps the stages beside an artefact: give -o");
    if (!options.emit.empty() && options.targets.size() > 1)
      usage("--emit prints one target; --targets names " +
            llvm::Twine(options.targets.size()));
  }
  if (options.command == Command::Compile && options.emit.empty()) {
    bool isExplained = options.explain || !options.report.empty();
    if (options.output.empty() && isExplained)
      return options;
    if (options.output.empty())
      usage("where to? Give -o with a .ptx, .so or .tdsx file, --emit, "
            "--explain or --report");
    if (extension != ".ptx" && extension != ".so" && extension != ".tdsx")
      usage("-o takes a .ptx, .so or .tdsx file, not '" + options.output + "'");
    if (!options.targets.empty() && extension != ".tdsx")
      usage("--targets goes with a .tdsx; a " + extension +
            " has one target (see --arch and --cpu)");
  }
  return options;
}

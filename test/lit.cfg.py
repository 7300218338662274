# Configuration of the lit suites. A test is a file with RUN lines; the tools of the build tree and of LLVM are on PATH.
import os
import shutil

import lit.formats

config.name = "tdsl"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".tds", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt", "Unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tdsl_build_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [
        os.path.join(config.tdsl_build_dir, "bin"),
        config.llvm_tools_dir,
        os.path.join(config.tdsl_build_dir, "tools"),
        "/usr/local/cuda/bin",
        os.environ["PATH"],
    ]
)
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%examples", os.path.join(config.tdsl_source_dir, "examples")))
config.substitutions.append(("%source", config.tdsl_source_dir))
config.substitutions.append(("%build", config.tdsl_build_dir))
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%fashion", "/usr/share/datasets/fashion-mnist"))

path = config.environment["PATH"]
if shutil.which("ptxas", path=path):
    config.available_features.add("ptxas")
# A browser draws the pages of --report; bootstrap does not install one.
if any(shutil.which(name, path=path) for name in ("chromium", "chromium-browser", "google-chrome")):
    config.available_features.add("chromium")
if os.path.exists("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"):
    config.available_features.add("fashion-mnist")
if os.path.exists(os.path.join(config.tdsl_build_dir, "lib", "libtds_cudasim.so")):
    config.available_features.add("simulator")
if config.tdsl_sanitize:
    config.available_features.add("sanitizers")

#!/bin/sh
# A stand-in for CUDA, so that `cargo check --features cuda` succeeds on a machine without CUDA or a GPU.
#
#   eval "$(tools/cuda_stub.sh)"                  makes target/cuda-stub and sets the variables that cargo needs
#   cargo check --package citree --features cuda  checks the types of all of citree with the feature on
#
# The build scripts of candle-kernels and cudarc run `nvcc` to get its version and to compile candle's kernels. The stand-in
# reports a version and writes placeholder files instead of kernels, so nothing that is built with it runs. Cargo does not
# notice if a real `nvcc` replaces it later, so it uses a separate target folder.
#
# CUDA_STUB_VERSION is the reported release; cudarc must support it [default: 12.8].
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
stub=$top/target/cuda-stub
version=${CUDA_STUB_VERSION:-12.8}
mkdir -p "$stub/bin" "$stub/include" "$stub/lib64"

sed "s/VERSION/$version/g" >"$stub/bin/nvcc" <<'NVCC'
#!/bin/sh
# Written by tools/cuda_stub.sh: reports a version like nvcc, compiles nothing.
set -eu
[ $# -gt 0 ] || { echo "nvcc stand-in: no arguments" >&2; exit 1; }
ptx= folder=. out= source=
while [ $# -gt 0 ]; do
  case $1 in
    --version)
      # cudarc reads the release from the fourth line.
      echo "nvcc: NVIDIA (R) Cuda compiler driver"
      echo "A stand-in by tools/cuda_stub.sh of citree"
      echo "Built for type checks"
      echo "Cuda compilation tools, release VERSION, VVERSION.0"
      exit ;;
    --list-gpu-code) echo sm_80; exit ;;
    --ptx) ptx=yes ;;
    --output-directory) shift; folder=$1 ;;
    -o) shift; out=$1 ;;
    *.cu) source=$1 ;;
  esac
  shift
done
if [ -n "$ptx" ] && [ -n "$source" ]; then
  out=$folder/$(basename "$source" .cu).ptx
fi
[ -n "$out" ] || { echo "nvcc stand-in: nothing to write" >&2; exit 1; }
# Not valid code for a GPU or a linker, in case a build gets that far.
echo "not a kernel: written by tools/cuda_stub.sh of citree" >"$out"
NVCC
chmod +x "$stub/bin/nvcc"

quoted() { printf "%s='%s'; export %s\n" "$1" "$2" "$1"; }
quoted PATH "$stub/bin:$PATH"
quoted NVCC "$stub/bin/nvcc"
quoted CUDA_HOME "$stub"
# Without a GPU, its compute capability cannot be detected.
quoted CUDA_COMPUTE_CAP 80
quoted CARGO_TARGET_DIR "$top/target/cuda-check"

#!/bin/sh
# Check that this host can build and run torchsim, before anything is downloaded. Prints everything that is missing at
# once, with the command that installs it, and exits 1; prints the path of the Python to use on success.
# Environment: PYTHON (a Python 3.11 to 3.14), CXX (a C++20 compiler); both are looked for when unset.
set -u

missing=""
packages=""
need() {
    missing="${missing}  - $1
"
    [ -z "$2" ] || packages="${packages} $2"
}

# The pinned wheels exist for 3.11 to 3.14.
suitable() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null
}

python=""
for candidate in ${PYTHON:-python3 python3.11 python3.12 python3.13 python3.14}; do
    if suitable "$candidate"; then
        python=$(command -v "$candidate")
        break
    fi
done

if [ -z "$python" ]; then
    need "Python 3.11 to 3.14 (tried: ${PYTHON:-python3, python3.11 to python3.14}); PYTHON=/path/to/python3.11 names another one" "python3 python3-venv python3-dev"
else
    "$python" -c 'import venv, ensurepip' 2>/dev/null || need "the venv module of $python" "python3-venv"
    "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' \
        || need "the C headers (Python.h) of $python" "python3-dev"
fi

compiler=${CXX:-}
compiler=${compiler%% *}
if [ -n "$compiler" ]; then
    command -v "$compiler" >/dev/null 2>&1 || need "a C++ compiler: CXX names $compiler, which is no program" "g++"
elif ! command -v g++ >/dev/null 2>&1 && ! command -v c++ >/dev/null 2>&1 && ! command -v clang++ >/dev/null 2>&1; then
    need "a C++20 compiler (g++ 11 or clang++ 14, or newer)" "g++"
fi

if [ -n "$missing" ]; then
    {
        echo "torchsim cannot be set up on this host. Missing:"
        printf '%s' "$missing"
        [ -z "$packages" ] || echo "On Debian or Ubuntu: apt-get install$packages"
    } >&2
    exit 1
fi
echo "$python"

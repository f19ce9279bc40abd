#!/usr/bin/env bash
# Installs the Debian packages that a build needs, and with "test" those of the tests too. Does nothing where
# all of them are there.
#
# Usage: deploy/install_packages.sh build|test
set -euo pipefail

# README.md says what each of these is for.
build=(cmake g++ libabsl-dev libarchive-dev libbz2-dev libcli11-dev libcpp-httplib-dev libgrpc++-dev libgtest-dev liblz4-dev liblzma-dev
  libprotobuf-dev libre2-dev libsimdjson-dev libsqlite3-dev libssl-dev libzstd-dev ninja-build pkg-config prometheus-cpp-dev
  protobuf-compiler protobuf-compiler-grpc zlib1g-dev)
tests=(clang-16 clang-tidy-16 libclang-rt-16-dev libvectorscan-dev openssl ripgrep)

case "${1:-}" in
  build) wanted=("${build[@]}") ;;
  test) wanted=("${build[@]}" "${tests[@]}") ;;
  *) echo "usage: $0 build|test" >&2; exit 64 ;;
esac

missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [[ $status == *" installed" ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || { echo "$0: not root and no sudo; as root: apt-get install ${missing[*]}" >&2; exit 77; }
  as_root=(sudo)
fi
echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"

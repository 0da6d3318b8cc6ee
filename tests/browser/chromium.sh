#!/bin/sh
# Where no Chromium is found, installs Debian's; exit 1 and why, where that cannot be. ROTA_CHROMIUM names another.
set -u
for name in ${ROTA_CHROMIUM:-chromium chromium-browser google-chrome}; do
  if command -v "$name" >/dev/null; then exit 0; fi
done
if [ -n "${ROTA_CHROMIUM:-}" ]; then
  echo "rota: ROTA_CHROMIUM is $ROTA_CHROMIUM, which is no program" >&2; exit 1
elif ! command -v apt-get >/dev/null; then
  echo "rota: no chromium found, and no apt-get to install it; install Chromium, or name it: ROTA_CHROMIUM=/path/to/chromium" >&2; exit 1
elif [ "$(id -u)" -ne 0 ]; then
  echo "rota: no chromium found, and only root may install it (Debian: apt-get install chromium)" >&2; exit 1
fi
echo "rota: installing Debian's chromium (some 100 MB, once)"
log=$(mktemp)
export DEBIAN_FRONTEND=noninteractive
if apt-get update </dev/null >"$log" 2>&1 &&
  apt-get install --yes --no-install-recommends chromium fonts-dejavu-core </dev/null >>"$log" 2>&1; then
  rm -f "$log"; exit 0
fi
tail -n 5 "$log" >&2; rm -f "$log"
echo "rota: apt-get could not install chromium" >&2; exit 1

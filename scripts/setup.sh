#!/bin/sh
# Makes a machine ready for Longshore: npm packages, Docker engine, sandbox image, Temporal, Postgres. Does nothing twice.
#   --quiet   print only what is done anew
set -eu
cd "$(dirname "$0")/.."

if ! command -v node >/dev/null 2>&1; then
  echo "Node.js is not installed. Install Node.js 24 (20.19 is the oldest that works) and run this again." >&2
  exit 1
fi
if ! node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'; then
  echo "Node.js $(node --version) is too old. Install Node.js 24 (20.19 is the oldest that works) and run this again." >&2
  exit 1
fi

if ! node scripts/is-installed.js; then
  echo "setup: npm packages: installing"
  started=$(date +%s)
  # No package needs its install script, and a script of a package could do anything.
  npm ci --ignore-scripts --no-fund --no-audit --loglevel=error
  echo "setup: npm packages: installed ($(($(date +%s) - started)) s)"
fi

exec node --import tsx scripts/setup.ts "$@"

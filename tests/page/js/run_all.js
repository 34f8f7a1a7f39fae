// Runs the test files that it is given, two at a time, on one CPU too: some wait for
// WebCrypto.

import { run } from "node:test";
import { tap } from "node:test/reporters";

run({ files: process.argv.slice(2), concurrency: 2 })
  .compose(tap)
  .pipe(process.stdout);

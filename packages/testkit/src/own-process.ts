/**
 * The test files that vitest runs in a process of their own, as globs from the repository. All
 * other files share a few processes, so that each does not load the same modules again.
 */
export const ownProcess: readonly string[] = [
  // Real runtimes, and programs of the machine: these count processes, mounts and open files.
  'packages/engine-host/**',
  'packages/erofs/test/boots-in-runsc.test.ts',
  'packages/server/test/daemon/**',
  // Most of their time is that of the programs that they start, or of connections.
  'packages/builder/**',
  // Each file has a browser, which ends with it.
  'packages/console/**',
  'packages/egress/**',
  'packages/server/test/foundation/store/postgres/**',
  // Each sets HOLT_FAILPOINTS before the modules load that read it.
  'packages/failpoints/**',
  'packages/server/test/crash/**',
  // The tests of the settings and tools of tests.
  'packages/testkit/**',
  // These set variables of the environment or other globals.
  'packages/cli/test/errors/report-error.test.ts',
  'packages/cli/test/quickstart-end.test.ts',
  'packages/cli/test/usage/first-guesses.test.ts',
  'packages/sdk/test/errors/errors.test.ts',
  'packages/server/test/api/telemetry/tracing.test.ts',
  // These put other clocks in place of the real ones.
  'packages/cli/test/output/while-waiting.test.ts',
  'packages/sdk/test/commands.test.ts',
  'packages/server/test/foundation/wire/drop-rest-of-body.test.ts',
  'packages/server/test/foundation/wire/stream-items.test.ts',
  'packages/server/test/inside/attach/watch-peer.test.ts',
  'packages/server/test/runtimes/pools/refill-scheduler.test.ts',
  'packages/server/test/runtimes/reconcile/memory-kills.test.ts',
  'packages/server/test/tenancy/auth/open-streams.test.ts',
  // These measure the memory, processor time, event loop or open files of their process.
  'packages/async/test/{merge-pieces,own-text,waiters,whole-bytes}.test.ts',
  'packages/guest-client/test/ports/port-stream.test.ts',
  'packages/sdk/test/tree/unread-archive.test.ts',
  'packages/server/test/api/docs/serve-site.test.ts',
  'packages/server/test/api/http/{floods,many-values,read-json}.test.ts',
  'packages/server/test/builds/{build-log,check-dockerfile}.test.ts',
  'packages/server/test/resources/network/{logged-decision,suggest-policy}.test.ts',
  'packages/server/test/runtimes/links/runtime-link.test.ts',
  'packages/server/test/tenancy/audit/audited-params.test.ts',
  'packages/tar/test/{hostile-tar.fuzz,read-tar,write-tar.property}.test.ts',
]

/**
 * Matches a file that needs a process of its own, by its module mocks, other globals and clocks, or
 * measurements of the process.
 */
export const needsOwnProcess = new RegExp(
  [
    String.raw`\bvi\.(mock|doMock|hoisted|resetModules|stubEnv|stubGlobal|useFakeTimers|setSystemTime)\b`,
    String.raw`\bprocess\.env(\.\w+|\[.*\]) = |\bdelete process\.env|\bprocess\.(chdir|umask)\b|\bglobalThis\.\w+ = `,
    String.raw`\blongestPiece(Of|Ms)\b|/support/pieces\.ts|\bexpose-gc\b|/proc/self/fd\b`,
    String.raw`\bprocess\.(cpuUsage|memoryUsage)\b`,
  ].join('|'),
)

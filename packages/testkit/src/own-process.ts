/**
 * The test files that vitest runs in a process of their own, as globs from the repository. All
 * other files share a few processes, so that each does not load the same modules again.
 */
export const ownProcess: readonly string[] = [
  // Each file has a browser, which ends with it.
  'packages/console/**',
  // Each sets HOLT_FAILPOINTS before the modules load that read it.
  'packages/engine-host/test/{failpoints,checkpoints/failed-removal}.test.ts',
  'packages/failpoints/**',
  'packages/server/test/crash/**',
  // These count the programs or limits of their process.
  'packages/engine-host/test/memory/out-of-memory.test.ts',
  'packages/engine-host/test/tools/tools.test.ts',
  // These set variables of the environment or other globals.
  'packages/cli/test/errors/report-error.test.ts',
  'packages/cli/test/quickstart-end.test.ts',
  'packages/cli/test/usage/first-guesses.test.ts',
  'packages/sdk/test/errors/errors.test.ts',
  'packages/server/test/api/telemetry/tracing.test.ts',
  'packages/server/test/daemon/systemd.test.ts',
  'packages/testkit/test/{check-left-behind,draw-share,one-in,own-process,print-seed}.test.ts',
  // These put other clocks in place of the real ones.
  'packages/builder/test/output/output-lines.test.ts',
  'packages/cli/test/output/while-waiting.test.ts',
  'packages/egress/test/{resolver/hostile-server,terminate/secrets/redactor}.test.ts',
  'packages/sdk/test/commands.test.ts',
  'packages/server/test/fleet/trust/secrets-of-workers.test.ts',
  'packages/server/test/foundation/wire/drop-rest-of-body.test.ts',
  'packages/server/test/foundation/wire/stream-items.test.ts',
  'packages/server/test/inside/attach/watch-peer.test.ts',
  'packages/server/test/runtimes/pools/refill-scheduler.test.ts',
  'packages/server/test/runtimes/reconcile/memory-kills.test.ts',
  'packages/server/test/tenancy/audit/audit.test.ts',
  'packages/server/test/tenancy/auth/open-streams.test.ts',
  // These measure the memory, processor time, event loop or open files of their process.
  'packages/async/test/{merge-pieces,own-text,waiters,whole-bytes}.test.ts',
  'packages/builder/test/{context/search-account,dockerfile/dockerfile-reader,image/pull-error}.test.ts',
  'packages/builder/test/steps/{resolve-stages,skipped-keys}.test.ts',
  'packages/egress/test/{session/flood,session/request-record,terminate/unread}.test.ts',
  'packages/engine-host/test/link/guest-listener.test.ts',
  'packages/guest-client/test/ports/port-stream.test.ts',
  'packages/sdk/test/tree/unread-archive.test.ts',
  'packages/server/test/api/docs/serve-site.test.ts',
  'packages/server/test/api/http/{floods,many-values,read-json}.test.ts',
  'packages/server/test/builds/{build-log,check-dockerfile}.test.ts',
  'packages/server/test/daemon/machine/make-log.test.ts',
  'packages/server/test/e2b/envd/{endless-streams,large-bodies}.test.ts',
  'packages/server/test/fleet/forwarding/{forwarded-routes,huge-transfers}.test.ts',
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
    String.raw`\bprocess\.(cpuUsage|memoryUsage)\b|/support/(enable-failpoints|failpoint-file)\.ts`,
  ].join('|'),
)

import { shareOf } from './draw-share.ts'

/**
 * The test files of packages of which a short run has a share. Each takes many seconds, is about
 * one feature, and other files that always run use the same code.
 */
export const drawnFiles: Readonly<Record<'console' | 'others', readonly string[]>> = {
  console: inPackage('console', [
    ...['code-tab', 'commands', 'console', 'every-page', 'file-editor', 'files', 'hidden-characters'],
    ...['overview-tab', 'resources-activity', 'resources-network', 'resources-service', 'runtime-tabs'],
    ...['runtimes-page', 'templates', 'terminal', 'trace'],
  ]),
  others: [
    ...inPackage('builder', [
      ...['base/bootstrap', 'context/search-account', 'corpus', 'dockerfile/dockerfile-reader'],
      ...['image/flatten-image', 'registry/bad-registry', 'registry/base-images', 'steps/run-build'],
    ]),
    ...inPackage('cli', [
      ...['bundle', 'commands/code', 'commands/create-waits', 'commands/events', 'commands/lifecycle'],
      ...['commands/network', 'commands/run', 'commands/runtimes', 'commands/up-down', 'completion'],
      ...['completion-at-terminal', 'install', 'usage/first-guesses'],
    ]),
    ...inPackage('egress', ['http/relay', 'session/flood', 'upstream/dialer']),
    ...inPackage('engine-host', [
      ...['export', 'failpoints', 'full-file-system', 'host/boot-trial', 'images/deltas'],
      ...['memory/out-of-memory', 'network', 'restore', 'write-down'],
    ]),
    ...inPackage('erofs', ['image-of-tar.fuzz', 'read/image-reader', 'write/write-image.property']),
    ...inPackage('mcp', ['commands', 'vanished-clients']),
    ...inPackage('sdk', ['commands', 'package/built-package', 'package/oldest-node', 'tree/large-directory']),
    ...inPackage('server', [
      ...['api/http/floods', 'api/http/fuzz', 'api/http/time-outs', 'builds/check-dockerfile', 'builds/contexts'],
      ...['crash/builds', 'crash/others', 'daemon/doctor/state-checks', 'e2b/control/life-of-a-sandbox'],
      ...['e2b/envd/endless-streams', 'foundation/store/damaged-keys-and-projects'],
      ...['foundation/store/transfer/transfer', 'inside/attach/attach', 'inside/code/lying-bridge'],
      ...['inside/ports/forwarding', 'resources/templates/base-image', 'runtimes/create/dry-run'],
      ...['runtimes/lifecycle/cut-off', 'runtimes/pools/refill', 'tenancy/webhooks/webhook-delivery'],
    ]),
    ...inPackage('testkit', ['e2b-coverage', 'step-accounts']),
  ],
}

/** The share of each list that a short run has. The files of the console each start a browser. */
export const drawnShares = { console: 1 / 6, others: 1 / 3 } as const

/** Returns the test files that this run leaves out. A long run leaves out none. */
export function filesLeftOut(): readonly string[] {
  return [
    ...notDrawn(drawnFiles.console, drawnShares.console, 'browser tests of the console'),
    ...notDrawn(drawnFiles.others, drawnShares.others, 'test files of packages'),
  ]
}

function notDrawn(files: readonly string[], share: number, subject: string): readonly string[] {
  const here = shareOf(files, share, subject)
  return files.filter((name) => !here.includes(name))
}

function inPackage(name: string, files: readonly string[]): readonly string[] {
  return files.map((file) => `packages/${name}/test/${file}.test.ts`)
}

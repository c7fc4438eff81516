import { leftOutOf } from './draw-share.ts'

/**
 * The lists: browser tests of the console, files of half a minute, tests of several hosts, and
 * other files of seconds.
 */
export const drawnLists = ['console', 'heavy', 'fleet', 'others'] as const

type DrawnList = (typeof drawnLists)[number]

/**
 * The test files of packages of which a short run has a share. Each takes many seconds, is about
 * one feature, and other files that always run use the same code.
 */
export const drawnFiles: Readonly<Record<DrawnList, readonly string[]>> = {
  console: inPackage('console', [
    ...['code-tab', 'commands', 'console', 'every-page', 'file-editor', 'files', 'hidden-characters'],
    ...['overview-tab', 'policy', 'resources-activity', 'resources-network', 'resources-service', 'runtime-tabs'],
    ...['runtimes-page', 'templates', 'terminal', 'trace'],
  ]),
  heavy: [
    ...inPackage('builder', ['corpus', 'steps/run-build']),
    ...inPackage('cli', ['commands/runtimes', 'commands/up-down', 'completion-at-terminal']),
    ...inPackage('engine-host', ['images/deltas', 'memory/out-of-memory', 'restore', 'write-down']),
    ...inPackage('server', [
      ...['foundation/store/postgres/postgres-store', 'foundation/store/transfer/transfer'],
      ...['runtimes/lifecycle/lifetimes', 'runtimes/pools/pools'],
    ]),
  ],
  fleet: [
    ...inPackage('engine-host', ['transfer/host-transfer']),
    ...inPackage('object-store', ['s3-store']),
    ...inPackage('server', [
      ...['fleet/artifacts/artifact-fetcher', 'fleet/artifact-rows/artifacts-travel'],
      'fleet/artifact-rows/class-checkpoints',
      ...['fleet/builds/builds-of-a-fleet', 'fleet/e2b/e2b-builds', 'fleet/master-keys/rotation'],
      ...['fleet/forwarding/forwarded-routes', 'fleet/forwarding/forwarded-upgrades'],
      ...['fleet/forwarding/huge-transfers', 'fleet/forwarding/lost-owners'],
      ...['fleet/forwarding/messages-of-others', 'fleet/forwarding/same-key-at-many-hosts'],
      ...['fleet/forwarding/two-versions', 'fleet/forwarding/whole-fleet'],
      'fleet/kubernetes/drained-workers',
      ...['fleet/hosts/verdict', 'fleet/moves/drain', 'fleet/moves/drain-of-many', 'fleet/moves/full-hosts'],
      'fleet/moves/lost-pauses',
      ...['fleet/moves/moves.property', 'fleet/moves/paused-runtimes', 'fleet/placement/placed-creates'],
      ...['fleet/rounds/rounds', 'fleet/stored-artifacts/stored-artifacts'],
      ...['fleet/trust/joined-workers', 'fleet/trust/secrets-of-workers'],
    ]),
  ],
  others: [
    ...inPackage('builder', [
      ...['base/bootstrap', 'context/search-account', 'dockerfile/dockerfile-reader'],
      ...['image/flatten-image', 'registry/bad-registry', 'registry/base-images'],
    ]),
    ...inPackage('cli', [
      ...['bundle', 'commands/code', 'commands/create-waits', 'commands/events', 'commands/lifecycle'],
      ...['commands/network', 'commands/run', 'completion', 'install', 'usage/first-guesses'],
    ]),
    ...inPackage('egress', ['http/relay', 'session/flood', 'terminate/secrets/no-oracle', 'upstream/dialer']),
    ...inPackage('engine-host', ['export', 'failpoints', 'full-file-system', 'host/boot-trial', 'network']),
    ...inPackage('erofs', ['image-of-tar.fuzz', 'read/image-reader', 'write/write-image.property']),
    ...inPackage('mcp', ['commands', 'vanished-clients']),
    ...inPackage('sdk', ['commands', 'package/built-package', 'package/oldest-node', 'tree/large-directory']),
    ...inPackage('server', [
      ...['api/http/floods', 'api/http/fuzz', 'api/http/time-outs', 'builds/check-dockerfile', 'builds/contexts'],
      ...['crash/builds', 'crash/others', 'daemon/doctor/state-checks', 'e2b/control/life-of-a-sandbox'],
      ...['e2b/envd/endless-streams', 'foundation/store/damaged-keys-and-projects'],
      ...['inside/attach/attach', 'inside/code/lying-bridge', 'inside/ports/forwarding'],
      ...['resources/templates/base-image', 'runtimes/create/dry-run'],
      ...['runtimes/lifecycle/cut-off', 'runtimes/pools/refill', 'tenancy/webhooks/webhook-delivery'],
    ]),
    ...inPackage('testkit', ['e2b-coverage', 'step-accounts']),
  ],
}

/** The share of each list that a short run has. Each file of the console starts a browser. */
export const drawnShares: Readonly<Record<DrawnList, number>> = {
  console: 1 / 17,
  heavy: 1 / 6,
  fleet: 1 / 4,
  others: 1 / 4,
}

/** Returns the test files that this run leaves out. A long run leaves out none. */
export function filesLeftOut(): readonly string[] {
  return drawnLists.flatMap((list) => leftOutOf(drawnFiles[list], drawnShares[list], `test files: ${list}`))
}

function inPackage(name: string, files: readonly string[]): readonly string[] {
  return files.map((file) => `packages/${name}/test/${file}.test.ts`)
}

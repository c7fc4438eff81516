import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The files of `packages/server/src` with queries of all projects: their number, and the reason. A
 * query for a client must contain the client's project.
 */
const serviceWide: Readonly<Record<string, readonly [count: number, why: string]>> = {
  'api/handlers/host-handlers.ts': [1, 'counts for operators'],
  'api/handlers/places-in-fleet.ts': [3, 'counts for operators'],
  'api/handlers/readiness.ts': [1, 'the templates that Holt provides'],
  'api/metrics/row-gauges.ts': [3, 'counts for operators'],
  'builds/build-log.ts': [2, 'the service writes the log of a build that it runs'],
  'builds/collect.ts': [5, 'images and checkpoints belong to nobody'],
  'builds/drop-checkpoints.ts': [1, 'checkpoints of every project, which a start removes'],
  'builds/evict-cache.ts': [3, 'the cache has one limit for all'],
  'builds/recover-builds.ts': [3, 'a start ends and clears what any project left'],
  'builds/remove-contexts.ts': [1, 'age, in every project'],
  'builds/remove-orphans.ts': [1, 'a host has contexts of every project'],
  'builds/row-notes.ts': [1, 'lists the projects with notes'],
  'fleet/builds/build-verbs.ts': [1, 'by a template that the service has found'],
  'foundation/host/host-row.ts': [1, 'the first host gets the contexts of every project'],
  'builds/remove-old-builds.ts': [1, 'age, in every project'],
  'builds/retake-checkpoints.ts': [1, 'checkpoints of every project, which a start takes again'],
  'builds/retake-for-class.ts': [1, 'by a template that the service has found'],
  'daemon/open-foundation.ts': [1, 'whether anything is sealed at all'],
  'daemon/open-own-store.ts': [2, 'whether the store knows the state directory'],
  'daemon/purge.ts': [2, 'the end of everything'],
  'daemon/sweep.ts': [3, 'age, in every project'],
  'e2b/envd/find-signed.ts': [2, 'a signature names no project'],
  'e2b/sandbox/find-sandbox.ts': [1, 'an address names no project; its token is for one runtime'],
  'builds/evict-copies.ts': [3, 'the disk of a host has copies for every project'],
  'fleet/artifact-rows/store-existing.ts': [2, 'a host has artifacts of every project'],
  'fleet/trust/worker-errands.ts': [2, 'the end of offers and grants to workers, in every project'],
  'fleet/artifacts/may-read-context.ts': [1, 'another host names the context, and its project decides'],
  'fleet/hosts/start-host.ts': [1, 'a host has runtimes of every project'],
  'fleet/kubernetes/node-guard.ts': [1, 'a host has runtimes of every project'],
  'fleet/hosts/judge-runtimes.ts': [2, 'a verdict is about rows of a host, of every project'],
  'fleet/hosts/verdict.ts': [1, 'a verdict is about rows of a host, of every project'],
  'fleet/master-keys/reseal-all.ts': [2, 'a master key seals values of every project'],
  'fleet/master-keys/shared-keys.ts': [1, 'a master key seals values of every project'],
  'fleet/moves/away-links.ts': [1, 'a host has runtimes of every project'],
  'fleet/moves/drain.ts': [1, 'a host has runtimes of every project'],
  'fleet/moves/end-drain.ts': [1, 'a host has builds of every project'],
  'fleet/moves/releases.ts': [1, 'a host has runtimes of every project'],
  'api/handlers/drain-handlers.ts': [3, 'an operator empties a host, which has runtimes of every project'],
  'fleet/placement/own-facts.ts': [1, 'a host has runtimes of every project'],
  'inside/ports/admit-to-port.ts': [1, 'an address names no project; its token is for one runtime'],
  'resources/network/address-book.ts': [1, 'by a runtime that the service has found'],
  'resources/changes-of-others.ts': [4, 'changes of every project, for the runtimes of a host'],
  'resources/network/decision-log.ts': [1, 'decisions of the gateway, of many runtimes at once'],
  'foundation/sealing/rotate-master-key.ts': [1, 'one key seals for all'],
  'resources/templates/fallbacks.ts': [1, 'the engine knows no projects; the log is for operators'],
  'runtimes/admission/promised.ts': [1, 'what the host has promised to all'],
  'runtimes/lifecycle/clock-watch.ts': [2, 'a jump of the clock moves every deadline'],
  'runtimes/lifecycle/forget-ended.ts': [1, 'what has ended, of every project'],
  'runtimes/lifecycle/lifetimes.ts': [1, 'deadlines of every project'],
  'runtimes/lifecycle/wake.ts': [1, 'finds the project of a runtime whose link is asked for'],
  'runtimes/pools/current-shapes.ts': [1, 'what pools are made for'],
  'runtimes/pools/pool-member.ts': [1, 'a pool serves every project of its template'],
  'runtimes/reconcile/change-missing.ts': [2, 'files of every project'],
  'runtimes/reconcile/find-missing.ts': [3, 'files of every project'],
  'runtimes/reconcile/follow-engine.ts': [3, 'the engine knows no projects'],
  'runtimes/reconcile/mark-lost.ts': [2, 'files of every project'],
  'runtimes/reconcile/memory-kills.ts': [1, 'the engine knows no projects'],
  'runtimes/snapshots/recover-snapshots.ts': [1, 'a start ends what any project left'],
  'runtimes/state/collect-after.ts': [1, 'images belong to nobody'],
  'runtimes/usage/usage-watch.ts': [1, 'what all runtimes take'],
  'tenancy/audit/old-audit.ts': [4, 'the service bounds the whole log'],
  'tenancy/auth/authenticate.ts': [1, 'a key tells the project'],
  'tenancy/auth/valid-credentials.ts': [2, 'keys of open streams and of a browser, of all projects'],
  'tenancy/console/console-sessions.ts': [3, 'a token names no project; and age, in every project'],
  'tenancy/events/remove-old-events.ts': [1, 'the logs of all projects'],
  'tenancy/idempotency/kept-records.ts': [1, 'age, in every project'],
  'tenancy/keys/bootstrap.ts': [1, 'the default project by its name'],
  'tenancy/keys/end-tokens.ts': [2, 'keys of which a secret has ended, of all projects'],
  'tenancy/projects/create-project.ts': [1, 'how many projects there are'],
  'tenancy/projects/find-project.ts': [1, 'for operators, who may know of all'],
  'tenancy/webhooks/remove-old-deliveries.ts': [4, 'age, in every project'],
  'tenancy/webhooks/webhook-secrets.ts': [1, 'overlaps that are over, of every project'],
  'tenancy/webhooks/webhook-sender.ts': [1, 'by a webhook that the service has found'],
  'tenancy/webhooks/webhooks.ts': [1, 'a start begins what is active, of every project'],
}

/**
 * Returns a problem for each file with queries that lack the project, although their table has one.
 * The listed queries of the whole service are exempt.
 */
export function queryProblems(root: string): readonly string[] {
  const base = join(root, 'packages/server/src')
  const columns = globSync('foundation/store/*tables.ts', { cwd: base }).map((file) =>
    readFileSync(join(base, file), 'utf8'),
  )
  const interfaces = new Map(
    columns
      .join('\n')
      // A view is a pick of the columns of a table.
      .matchAll(/interface (\w+)[^{]*\{(.*?)\n\}|type (\w+) = Pick<(.*?)\n>/gs)
      .map(([, name, body, view, picked]) => [name ?? view, body ?? picked?.replaceAll("'", '')]),
  )
  const tables = [...(interfaces.get('Tables') ?? '').matchAll(/readonly (\w+): (\w+)/g)].flatMap(([, table, name]) =>
    interfaces.get(name)?.includes(' project_id') === true ? [table] : [],
  )
  if (!tables.includes('runtimes')) return ['scripts/security/queries.ts: cannot tell which tables have a project']
  // A query ends where it is executed, or with the statement or function that makes it.
  const query = new RegExp(
    `\\.(?:selectFrom|updateTable|deleteFrom)\\('(?:${tables.join('|')})'\\).*?(?:\\.execute|\\n\\n|\\n\\})`,
    'gs',
  )
  return globSync('**/*.ts', { cwd: base }).flatMap((file) => {
    const asked = readFileSync(join(base, file), 'utf8').match(query) ?? []
    const count = asked.filter((text) => !/'(?:\w+\.)?project_id',\s*(?:'=|'in'|projectId ===)/.test(text)).length
    const [allowed] = serviceWide[file] ?? [0]
    return count === allowed
      ? []
      : [`packages/server/src/${file}: ${count} queries name no project_id; scripts/security/queries.ts has ${allowed}`]
  })
}

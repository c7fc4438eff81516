import { type Route, type RouteName, routes } from '@holt/protocol'
import { Client } from 'pg'
import { onTestFinished, vi } from 'vitest'
import { currentRequest } from '../../src/foundation/request/request-context.ts'
import { openStore, type StorePlace } from '../../src/foundation/store/open-store.ts'
import { SqliteFile } from '../../src/foundation/store/sqlite-database.ts'
import { exampleOf, exampleThings } from './example-requests.ts'
import { FakeBuilder } from './fake-builder.ts'
import { startTestServer } from './start-test-server.ts'
import { fillPath } from './things-of-a-project.ts'

/** A statement on its way to the database. */
interface Sent {
  readonly name: string
  readonly connection: object
}

/** The cost of one request: the status of its answer, and how often it sent each statement. */
export interface RouteCost {
  readonly status: number
  readonly statements: ReadonlyMap<string, number>
}

/**
 * Routes that are not counted. Their answer does not end, they are about a fleet, or they need an
 * agent template. The work of the last ones goes on in the background while they are answered.
 */
const leftOut: ReadonlySet<RouteName> = new Set([
  ...(['attachCommand', 'watchFiles'] as const),
  ...(['cordonHost', 'uncordonHost', 'loseHost', 'forgetHost'] as const),
  ...(['createJoinToken', 'listJoinTokens', 'revokeJoinToken'] as const),
  ...(['pullTemplate'] as const),
  ...(['createBuild', 'deleteTemplate', 'deleteSnapshot', 'deleteProject'] as const),
])

/**
 * Statements that requests share, or repeat by a clock of the machine. They belong to the check and
 * the last use of keys, the audit log, new connections, and the wait for the end of changes.
 */
const shared: ReadonlySet<string> = new Set([
  ...['select keys', 'select known_keys', 'update keys', 'insert audit'],
  ...['insert holt_commits', 'set', 'select pg_stat_activity'],
])

/** Reads come before changes, and the end of a part before that of the whole. */
const turns = ['GET', 'PUT', 'PATCH', 'POST', 'DELETE']

/** The routes in the order of their examples: each leaves what the later ones need. */
export const countedRoutes = (Object.entries<Route>(routes) as [RouteName, Route][])
  .filter(([name]) => !leftOut.has(name))
  .sort(([, one], [, other]) => turnOf(one) - turnOf(other))

function turnOf({ method, path }: Route): number {
  const depth = path.split('/').length
  return turns.indexOf(method) * 100 + (method === 'DELETE' ? -depth : 0)
}

/**
 * Sends the example of each route to a service over a store, and counts the statements that the
 * requests send until they are answered. A message to PostgreSQL is one statement.
 */
export async function statementsOfRoutes(place: StorePlace): Promise<ReadonlyMap<RouteName, RouteCost>> {
  const sent = new Map<string, Sent[]>()
  const note = (sql: string, connection: object) => {
    const request = currentRequest()
    if (request !== undefined) sent.get(request.requestId)?.push({ name: nameOf(sql), connection })
  }
  noteStatements(place.type, note)
  // A clock that only requests move: caches forget between any two, whatever the machine does.
  const clock = { ms: Date.UTC(2030, 0, 1) }
  const store = await openStore(place)
  const server = await startTestServer({ builder: new FakeBuilder(), store, now: () => clock.ms })
  const things = await exampleThings(server)
  const costs = new Map<RouteName, RouteCost>()
  for (const [name, { method, path }] of countedRoutes) {
    clock.ms += 1_000
    const id = `count-${name}`
    const { query = '', headers = {}, ...request } = await exampleOf(name)
    const statements: Sent[] = []
    sent.set(id, statements)
    const asked = { ...request, headers: { ...headers, 'x-request-id': id } }
    const { status } = await server.ask(method, fillPath(path, things) + query, asked)
    sent.delete(id)
    costs.set(name, { status, statements: countsOf(statements) })
  }
  // The database may end before the test does.
  await server.close()
  return costs
}

/** Calls a function with each statement on its way to a database, until the test ends. */
function noteStatements(type: StorePlace['type'], note: (sql: string, connection: object) => void): void {
  if (type === 'sqlite') {
    const { prepare } = SqliteFile.prototype
    const spy = vi.spyOn(SqliteFile.prototype, 'prepare').mockImplementation(function (this: SqliteFile, sql) {
      note(sql, this)
      return prepare.call(this, sql)
    })
    onTestFinished(() => spy.mockRestore())
    return
  }
  const { query } = Client.prototype
  const spy = vi.spyOn(Client.prototype, 'query').mockImplementation(function (this: Client, ...asked: unknown[]) {
    const [first] = asked as [string | { readonly text: string }]
    note(typeof first === 'string' ? first : first.text, this)
    return (query as (...asked: unknown[]) => unknown).apply(this, asked)
  } as typeof query)
  onTestFinished(() => spy.mockRestore())
}

/** Counts statements by their verb and table, without those that requests share. */
function countsOf(statements: readonly Sent[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  // The statements of a transaction follow each other on their connection.
  for (const own of Map.groupBy(statements, ({ connection }) => connection).values())
    for (const name of withoutShared(own.map((each) => each.name))) counts.set(name, (counts.get(name) ?? 0) + 1)
  return new Map([...counts].sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** Removes shared statements, and transactions of nothing else. */
function withoutShared(names: readonly string[]): readonly string[] {
  const left: string[] = []
  for (const name of names.filter((each) => !shared.has(each)))
    if (name === 'commit' && left.at(-1) === 'begin') left.pop()
    else left.push(name)
  // A shared transaction that ends after the answer.
  return left.at(-1) === 'begin' ? left.slice(0, -1) : left
}

function nameOf(sql: string): string {
  const [verb = ''] = /\w+/.exec(sql) ?? []
  // To PostgreSQL, the message with it also takes the lock of the change.
  if (/^begin$/i.test(verb)) return 'begin'
  const [, table] = /\b(?:from|into|update)\s+"?(\w+)"?/i.exec(sql) ?? []
  return [verb.toLowerCase(), ...(table === undefined ? [] : [table])].join(' ')
}

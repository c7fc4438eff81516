import { DatabaseSync } from 'node:sqlite'
import type { FakeEngine } from '@holt/engine-testkit/fake'
import { onTestFinished, vi } from 'vitest'
import type { ServerConfig, ServerOptions } from '../../src/index.ts'
import { type PostgresProxy, startProxy } from './postgres-proxy.ts'
import { startTestServer, type TestServer } from './start-test-server.ts'
import { newStateDir, testDatabase } from './test-store.ts'

/**
 * A server that ends as by `kill -9` when a failpoint says so: from then on it changes nothing,
 * neither rows nor runtimes.
 */
export interface MortalServer extends TestServer {
  /** Resolves when it has been killed. */
  readonly killed: Promise<void>
}

/** The parts of a server while it lives. */
class Life {
  readonly databases = new Set<DatabaseSync>()
  readonly #killed = Promise.withResolvers<void>()
  /** Its way to PostgreSQL, where the tests run on that. */
  #proxy: PostgresProxy | null = null
  over = false

  get killed(): Promise<void> {
    return this.#killed.promise
  }

  /** The address of a database, by a way that is there for as long as this lasts. */
  async reach(url: string): Promise<string> {
    this.#proxy = await startProxy(url)
    onTestFinished(() => this.#proxy?.[Symbol.asyncDispose]())
    return this.#proxy.url(new URL(url).pathname.slice(1))
  }

  /**
   * Ends the server as a kill does: open transactions are rolled back, and its connections break at
   * once. It gets no new ones.
   */
  end(): void {
    this.over = true
    for (const database of this.databases) if (database.isOpen) database.close()
    void this.#proxy?.[Symbol.asyncDispose]()
    this.#killed.resolve()
  }
}

let current = new Life()

/**
 * Has `kill -9` of this process end the server that was started last, and nothing else. Its
 * database is closed and its engine does nothing any more; the next server is started over the same
 * store and the same engine.
 */
export function catchKills(): Disposable {
  const { exec } = DatabaseSync.prototype
  // The server opens its database and sets it up at once.
  const opened = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
    current.databases.add(this)
    return exec.call(this, sql)
  })
  const kill = process.kill.bind(process)
  const caught = vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
    if (pid !== process.pid || signal !== 'SIGKILL') return kill(pid, signal)
    current.end()
    return true
  })
  return {
    [Symbol.dispose]: () => {
      opened.mockRestore()
      caught.mockRestore()
    },
  }
}

/**
 * Starts a server that can be killed, over a state directory and an engine that may have been
 * another's.
 */
export async function startMortalServer(
  engine: FakeEngine,
  options: Partial<ServerOptions>,
  state?: string,
): Promise<MortalServer> {
  const life = new Life()
  current = life
  const stateDir = state ?? (await newStateDir())
  const { databaseUrl } = await testDatabase(stateDir)
  const reached = databaseUrl === null ? {} : { databaseUrl: await life.reach(databaseUrl) }
  const config = { ...options.config, ...reached } as ServerConfig
  const server = await startTestServer({ ...options, config, engine: mortal(engine, life) }, stateDir)
  return { ...server, engine, killed: life.killed }
}

/** The engine as a server has it: when that is killed, what it asks for is never answered. */
function mortal<Part extends object>(part: Part, life: Life): Part {
  return new Proxy(part, {
    get: (target, name) => {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...given: unknown[]) => {
        if (name === 'ability') return asMortal(value.apply(target, given), life)
        return life.over ? new Promise(() => {}) : value.apply(target, given)
      }
    },
  })
}

function asMortal(ability: object | null, life: Life): object | null {
  return ability === null ? null : mortal(ability, life)
}

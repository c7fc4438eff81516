import { DatabaseSync } from 'node:sqlite'
import type { FakeEngine } from '@holt/engine/fake'
import { vi } from 'vitest'
import type { ServerOptions } from '../../src/index.ts'
import { startTestServer, type TestServer } from './start-test-server.ts'

/** A server that ends as by `kill -9` when a failpoint says so: from then on it changes nothing, neither rows nor runtimes. */
export interface MortalServer extends TestServer {
  /** Resolves when it has been killed. */
  readonly killed: Promise<void>
}

/** What a server has while it lives. */
class Life {
  readonly databases = new Set<DatabaseSync>()
  readonly #killed = Promise.withResolvers<void>()
  over = false

  get killed(): Promise<void> {
    return this.#killed.promise
  }

  /** What is in the middle of a transaction is rolled back, as a process that ends leaves it. */
  end(): void {
    this.over = true
    for (const database of this.databases) if (database.isOpen) database.close()
    this.#killed.resolve()
  }
}

let current = new Life()

/**
 * Has `kill -9` of this process end the server that was started last, and nothing else. Its database is closed and its engine does nothing any more; the next server is
 * started over the same files and the same engine.
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

/** Starts a server that can be killed, over a state directory and an engine that may have been another's. */
export async function startMortalServer(
  engine: FakeEngine,
  options: Partial<ServerOptions>,
  stateDir?: string,
): Promise<MortalServer> {
  const life = new Life()
  current = life
  const server = await startTestServer({ ...options, engine: mortal(engine, life) }, stateDir)
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

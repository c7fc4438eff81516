import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'vitest'
import { call, runtimesPath } from '../../e2e/support/api.ts'
import { service } from '../../e2e/support/facts.ts'
import { snapshotsPath } from '../../e2e/support/test-snapshots.ts'

/** So many revoked keys are tried after each crash. */
const keysMax = 20

/** What has been acknowledged of one runtime. */
export interface KnownRuntime {
  readonly id: string
  /** SHA-256 of each file, by its path. */
  readonly files: Map<string, string>
  /** The exit code of each command, by its id. */
  readonly commands: Map<string, number>
}

/** Everything that the service has acknowledged, and that must therefore be so after every crash. */
export class Ledger {
  readonly runtimes = new Map<string, KnownRuntime>()
  readonly deleted = new Set<string>()
  readonly snapshots = new Set<string>()
  readonly deletedSnapshots = new Set<string>()
  /** The host that each policy allows, by the policy's name. */
  readonly policies = new Map<string, string>()
  /** The version of each secret, by its name. */
  readonly secrets = new Map<string, number>()
  readonly revokedKeys = new Set<string>()
  acknowledged = 0

  /** Looks whether all of it is so. Answers how many facts that were. */
  async verify(): Promise<number> {
    const counts = await Promise.all([
      this.#verifyRuntimes(),
      this.#verifyEnded(),
      this.#verifySnapshots(),
      this.#verifySettings(),
      this.#verifyKeys(),
    ])
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** Removes the policies and secrets that are known. */
  async forgetSettings(): Promise<void> {
    for (const name of this.policies.keys()) await call('DELETE', `/v1/agents/network-policy/${name}`)
    for (const name of this.secrets.keys()) await call('DELETE', `/v1/agents/secret/${name}`)
  }

  async #verifyRuntimes(): Promise<number> {
    let facts = 0
    for (const { id, files, commands } of this.runtimes.values()) {
      const answer = await call('GET', `${runtimesPath}/${id}`)
      expect(JSON.parse(answer.text).state, `${id}: ${answer.text}`).toBeOneOf(['running', 'paused'])
      expect(await digestsOf(id, [...files.keys()])).toEqual(files)
      for (const [commandId, code] of commands) {
        const told = await call('GET', `${runtimesPath}/${id}/commands/${commandId}`)
        expect(JSON.parse(told.text), `${commandId} of ${id}`).toMatchObject({ state: 'exited', exit_code: code })
      }
      facts += 1 + files.size + commands.size
    }
    return facts
  }

  /** A runtime that was deleted is terminated, and its life is in the events. */
  async #verifyEnded(): Promise<number> {
    for (const id of this.deleted)
      expect(JSON.parse((await call('GET', `${runtimesPath}/${id}`)).text).state, id).toBe('terminated')
    const told = eventsOf(service.stateDir)
    for (const id of [...this.deleted, ...this.runtimes.keys()])
      expect(told.has(`runtime.running ${id}`), id).toBe(true)
    for (const id of this.deleted) expect(told.has(`runtime.terminated ${id}`), id).toBe(true)
    return 3 * this.deleted.size + this.runtimes.size
  }

  async #verifySnapshots(): Promise<number> {
    for (const id of this.snapshots)
      expect(JSON.parse((await call('GET', `${snapshotsPath}/${id}`)).text).state, id).toBe('ready')
    for (const id of this.deletedSnapshots) expect((await call('GET', `${snapshotsPath}/${id}`)).status, id).toBe(404)
    return this.snapshots.size + this.deletedSnapshots.size
  }

  async #verifySettings(): Promise<number> {
    for (const [name, host] of this.policies)
      expect(JSON.parse((await call('GET', `/v1/agents/network-policy/${name}`)).text).allow[0]?.host, name).toBe(host)
    for (const [name, version] of this.secrets)
      expect(JSON.parse((await call('GET', `/v1/agents/secret/${name}`)).text).version, name).toBe(version)
    return this.policies.size + this.secrets.size
  }

  /** The newest of them: an address that sends more wrong keys than a few a second is told to wait. */
  async #verifyKeys(): Promise<number> {
    const keys = [...this.revokedKeys].slice(-keysMax)
    for (const key of keys) expect((await call('GET', runtimesPath, { key })).status).toBe(401)
    return keys.length
  }
}

/** The digests of files inside, which have to be there. */
async function digestsOf(id: string, paths: readonly string[]): Promise<Map<string, string>> {
  if (paths.length === 0) return new Map()
  const json = { argv: ['sha256sum', '--', ...paths], user: 'root', timeout_secs: 60 }
  const { text } = await call('POST', `${runtimesPath}/${id}/commands`, { json })
  const { stdout } = JSON.parse(text) as { stdout: string }
  return new Map(
    stdout
      .trimEnd()
      .split('\n')
      .map((line): [string, string] => [line.slice(66), line.slice(0, 64)]),
  )
}

/** Every event there is, as `TYPE SUBJECT`. */
function eventsOf(stateDir: string): ReadonlySet<string> {
  const database = new DatabaseSync(join(stateDir, 'holt.db'), { readOnly: true, timeout: 5000 })
  try {
    const rows = database.prepare('SELECT type, subject_id FROM events').all()
    return new Set(rows.map(({ type, subject_id }) => `${type} ${subject_id}`))
  } finally {
    database.close()
  }
}

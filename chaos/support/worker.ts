import { createHash, randomBytes } from 'node:crypto'
import { type Answer, type CallOptions, call, runtimesPath } from '../../e2e/support/api.ts'
import { snapshotsPath } from '../../e2e/support/test-snapshots.ts'
import type { Chance } from './chance.ts'
import type { KnownRuntime, Ledger } from './ledger.ts'

/** The most runtimes, and the most snapshots, that one worker has at a time. */
const runtimesMax = 2
const snapshotsMax = 2

/** What a request is answered with, as tests look into it. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Json = any

/** A request whose answer was lost with the daemon: it is sent again, and then it is known what became of it. */
interface Lost {
  readonly send: () => Promise<Answer>
  readonly settle: (answer: Answer) => void
}

/** A client that does whatever chance says, one thing after another, and writes down what was acknowledged. Everything it does is to things of its own. */
export class Worker {
  readonly #name: string
  readonly #ledger: Ledger
  readonly #chance: Chance
  readonly #mine = new Map<string, KnownRuntime>()
  readonly #snapshots: string[] = []
  #lost: Lost | null = null
  #made = 0
  /** Answers that say neither yes nor come again. */
  readonly surprises: string[] = []

  constructor(name: string, ledger: Ledger, chance: Chance) {
    this.#name = name
    this.#ledger = ledger
    this.#chance = chance
  }

  /** Works until the daemon is gone or `stop` says so. */
  async work(stop: AbortSignal): Promise<void> {
    while (!stop.aborted && this.#lost === null) await this.#step()
  }

  /** Finds out what became of the request whose answer was lost. */
  async recover(): Promise<void> {
    const lost = this.#lost
    this.#lost = null
    if (lost === null) return
    lost.settle(await lost.send())
  }

  async #step(): Promise<void> {
    const runtimes = [...this.#mine.values()]
    if (runtimes.length === 0 || (runtimes.length < runtimesMax && this.#chance.below(4) === 0)) return this.#create()
    const runtime = this.#chance.pick(runtimes)
    const step = this.#chance.pick([
      ...Array(4).fill('write'),
      ...Array(4).fill('command'),
      'pause',
      'snapshot',
      'delete',
      'policy',
      'secret',
      'key',
    ])
    if (step === 'write') return this.#write(runtime)
    if (step === 'command') return this.#run(runtime)
    if (step === 'pause') return this.#try(() => post(`${runtimesPath}/${runtime.id}/pause`), () => {}, [200])
    if (step === 'snapshot') return this.#snapshot(runtime)
    if (step === 'delete') return this.#delete(runtime)
    if (step === 'policy') return this.#policy()
    if (step === 'secret') return this.#secret()
    return this.#key()
  }

  #create(): Promise<void> {
    const json = { isolation: 'gvisor', timeout_secs: null, metadata: { worker: this.#name } }
    return this.#try(keyed(runtimesPath, json), ({ runtime_id: id }) => {
      const runtime: KnownRuntime = { id, files: new Map(), commands: new Map() }
      this.#mine.set(id, runtime)
      this.#ledger.runtimes.set(id, runtime)
    })
  }

  #delete({ id }: KnownRuntime): Promise<void> {
    // From here on it may be gone: nobody looks for it until it is known.
    this.#mine.delete(id)
    this.#ledger.runtimes.delete(id)
    return this.#try(
      () => call('DELETE', `${runtimesPath}/${id}`),
      () => this.#ledger.deleted.add(id),
      [204],
    )
  }

  #write({ id, files }: KnownRuntime): Promise<void> {
    const body = randomBytes(1 + this.#chance.below(200_000))
    const path = `/srv/${this.#next()}`
    const send = () => call('PUT', `${runtimesPath}/${id}/files/content`, { query: { path }, body })
    return this.#try(send, () => files.set(path, createHash('sha256').update(body).digest('hex')), [200, 201])
  }

  #run({ id, commands }: KnownRuntime): Promise<void> {
    const code = this.#chance.below(100)
    const send = keyed(`${runtimesPath}/${id}/commands`, {
      command: `sleep 0.0${this.#chance.below(10)}; exit ${code}`,
    })
    return this.#try(send, (result) => commands.set(result.command_id, code), [200])
  }

  #snapshot({ id }: KnownRuntime): Promise<void> {
    const oldest = this.#snapshots.length < snapshotsMax ? undefined : this.#snapshots.shift()
    if (oldest !== undefined) return this.#deleteSnapshot(oldest)
    const send = keyed(`${runtimesPath}/${id}/snapshot`, { kind: this.#chance.pick(['memory', 'filesystem']) })
    const acknowledge = ({ snapshot_id }: Json) => {
      this.#snapshots.push(snapshot_id)
      this.#ledger.snapshots.add(snapshot_id)
    }
    return this.#try(send, acknowledge, [201], ['runtime_paused'])
  }

  #deleteSnapshot(id: string): Promise<void> {
    this.#ledger.snapshots.delete(id)
    // Sent again after a lost answer, it may find none.
    return this.#try(
      () => call('DELETE', `${snapshotsPath}/${id}`),
      () => this.#ledger.deletedSnapshots.add(id),
      [204, 404],
    )
  }

  #policy(): Promise<void> {
    const name = `${this.#name}-policy`
    const host = `${this.#next()}.example.com`
    const { policies } = this.#ledger
    const isThere = policies.has(name)
    const json = { name, allow: [{ host }] }
    const put = () => call('PUT', `/v1/agents/network-policy/${name}`, { json })
    if (isThere) policies.delete(name)
    return this.#try(
      isThere ? put : keyed('/v1/agents/network-policy', json),
      () => policies.set(name, host),
      [200, 201],
    )
  }

  #secret(): Promise<void> {
    const name = `${this.#name}-secret`
    const { secrets } = this.#ledger
    const version = secrets.get(name)
    const json = { name, value: randomBytes(9).toString('hex'), hosts: ['api.example.com'] }
    const put = () => call('PUT', `/v1/agents/secret/${name}`, { json: { value: json.value } })
    if (version !== undefined) secrets.delete(name)
    const send = version === undefined ? keyed('/v1/agents/secret', json) : put
    return this.#try(send, (stored) => secrets.set(name, stored.version), [200, 201])
  }

  async #key(): Promise<void> {
    let made: Json = null
    await this.#try(keyed('/v1/agents/key', { name: this.#name, scopes: ['runtime:read'] }), (key) => {
      made = key
    })
    if (made === null) return
    const { key, key_id } = made
    const revoke = () => call('DELETE', `/v1/agents/key/${key_id}`)
    await this.#try(revoke, () => this.#ledger.revokedKeys.add(key), [204, 404])
  }

  /** Sends a request. What is acknowledged is written down; what is lost is sent again by `recover`. `refusals` are the errors that are no surprise. */
  async #try(
    send: () => Promise<Answer>,
    acknowledge: (json: Json) => void,
    expected: readonly number[] = [201],
    refusals: readonly string[] = [],
  ): Promise<void> {
    const settle = ({ status, text }: Answer) => {
      if (expected.includes(status)) {
        this.#ledger.acknowledged += 1
        acknowledge(text === '' ? null : JSON.parse(text))
        return
      }
      const comesAgain = status === 503 || status === 429
      if (!comesAgain && !refusals.includes(JSON.parse(text).error.code)) this.surprises.push(`${status} ${text}`)
    }
    try {
      settle(await send())
    } catch {
      this.#lost = { send, settle }
    }
  }

  #next(): string {
    this.#made += 1
    return `${this.#name}-${this.#made}`
  }
}

function post(path: string, options: CallOptions = {}): Promise<Answer> {
  return call('POST', path, options)
}

/** A POST that is one request however often it is sent. */
function keyed(path: string, json: object): () => Promise<Answer> {
  const headers = { 'idempotency-key': crypto.randomUUID() }
  return () => post(path, { json, headers })
}

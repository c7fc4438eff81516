import { Fact } from '@holt/testkit'

/** The knowledge about one runtime. */
export interface KnownRuntime {
  readonly id: string
  /** The worker that owns it, as its metadata says. */
  readonly worker: string
  readonly state: Fact<'running' | 'paused' | 'terminated'>
  /** The SHA-256 of each file, by its path; null if it does not exist. */
  readonly files: Map<string, Fact<string | null>>
  /** The exit code of each command, by its id. */
  readonly commands: Map<string, number>
}

/** The knowledge about one snapshot. */
export interface KnownSnapshot {
  readonly id: string
  readonly worker: string
  readonly state: Fact<'ready' | 'deleted'>
  /** The files of a runtime that is made of it: SHA-256 by path. */
  readonly files: ReadonlyMap<string, string>
}

/** The knowledge about one key. */
export interface KnownKey {
  readonly id: string
  readonly worker: string
  readonly state: Fact<'valid' | 'revoked'>
  secret: string
}

/** A network policy; null if none has the name. */
export type PolicyValue = { readonly revision: number; readonly host: string } | null

/**
 * All facts that the service has acknowledged, which must hold after every crash. For lost answers
 * it has the possible results.
 */
export class Ledger {
  readonly runtimes = new Map<string, KnownRuntime>()
  readonly snapshots = new Map<string, KnownSnapshot>()
  readonly keys = new Map<string, KnownKey>()
  /** By name. */
  readonly policies = new Map<string, Fact<PolicyValue>>()
  /** The version of each secret, by name; null if it does not exist. */
  readonly secrets = new Map<string, Fact<number | null>>()
  readonly builds = new Map<string, Fact<'under way' | 'ready' | 'failed'>>()
  /** Secrets of keys that were revoked or rotated away. */
  readonly deadSecrets: string[] = []
  /** The minimal number of times that the log must have an event, by `eventKey`. */
  readonly events = new Map<string, number>()
  /**
   * The number of requests that were answered with a failure. Each may have left one failed object,
   * and nothing else.
   */
  readonly failures = { runtimes: 0, snapshots: 0 }
  acknowledged = 0

  /** Adds a new runtime, with its known files. */
  addRuntime(id: string, worker: string, files: ReadonlyMap<string, string> = new Map()): void {
    if (this.runtimes.has(id)) throw new Error(`${id} was made twice`)
    const facts = [...files].map(([path, digest]) => [path, new Fact<string | null>(path, digest)] as const)
    this.runtimes.set(id, { id, worker, state: new Fact(id, 'running'), files: new Map(facts), commands: new Map() })
    this.expectEvent(eventKey('runtime.running', id))
  }

  /** Counts an acknowledged change that the log must contain. */
  expectEvent(key: string): void {
    this.events.set(key, (this.events.get(key) ?? 0) + 1)
  }
}

/** Returns the files of a runtime that certainly exist. */
export function knownFiles({ files }: KnownRuntime): ReadonlyMap<string, string> {
  return new Map(
    [...files].flatMap(([path, { values }]) => (values.length === 1 && values[0] != null ? [[path, values[0]]] : [])),
  )
}

/** Returns the key of an event: its type and subject, and the new revision or version. */
export function eventKey(type: string, subject: string, number?: unknown): string {
  return typeof number === 'number' ? `${type} ${subject} ${number}` : `${type} ${subject}`
}

import { Fact } from './fact.ts'

/** What is known of one runtime. */
export interface KnownRuntime {
  readonly id: string
  /** The worker whose it is, as its metadata says. */
  readonly worker: string
  readonly state: Fact<'running' | 'paused' | 'terminated'>
  /** SHA-256 of each file, by its path; null: it is not there. */
  readonly files: Map<string, Fact<string | null>>
  /** The exit code of each command, by its id. */
  readonly commands: Map<string, number>
}

/** What is known of one snapshot. */
export interface KnownSnapshot {
  readonly id: string
  readonly worker: string
  readonly state: Fact<'ready' | 'deleted'>
  /** What a runtime of it begins with: SHA-256 by path. */
  readonly files: ReadonlyMap<string, string>
}

/** What is known of one key. */
export interface KnownKey {
  readonly id: string
  readonly worker: string
  readonly state: Fact<'valid' | 'revoked'>
  secret: string
}

/** A network policy, null where there is none of that name. */
export type PolicyValue = { readonly revision: number; readonly host: string } | null

/**
 * Everything that the service has acknowledged, and that must therefore be so after every crash,
 * with what it may or may not have done where an answer was lost.
 */
export class Ledger {
  readonly runtimes = new Map<string, KnownRuntime>()
  readonly snapshots = new Map<string, KnownSnapshot>()
  readonly keys = new Map<string, KnownKey>()
  /** By name. */
  readonly policies = new Map<string, Fact<PolicyValue>>()
  /** The version of each secret, null where there is none, by name. */
  readonly secrets = new Map<string, Fact<number | null>>()
  readonly builds = new Map<string, Fact<'under way' | 'ready' | 'failed'>>()
  /** Secrets of keys that were revoked or rotated away. */
  readonly deadSecrets: string[] = []
  /** How often the log has to have an event at the least, by `eventKey`. */
  readonly events = new Map<string, number>()
  /**
   * Requests that were answered that nothing came of them: each may have left what has failed, and
   * nothing else.
   */
  readonly failures = { runtimes: 0, snapshots: 0 }
  acknowledged = 0

  /** A runtime was made, with files that are known. */
  addRuntime(id: string, worker: string, files: ReadonlyMap<string, string> = new Map()): void {
    if (this.runtimes.has(id)) throw new Error(`${id} was made twice`)
    const facts = [...files].map(([path, digest]) => [path, new Fact<string | null>(path, digest)] as const)
    this.runtimes.set(id, { id, worker, state: new Fact(id, 'running'), files: new Map(facts), commands: new Map() })
    this.expectEvent(eventKey('runtime.running', id))
  }

  /** A change was acknowledged that the log tells of. */
  expectEvent(key: string): void {
    this.events.set(key, (this.events.get(key) ?? 0) + 1)
  }
}

/** The files of a runtime that are there for certain. */
export function knownFiles({ files }: KnownRuntime): ReadonlyMap<string, string> {
  return new Map(
    [...files].flatMap(([path, { values }]) => (values.length === 1 && values[0] != null ? [[path, values[0]]] : [])),
  )
}

/**
 * What tells an event from others: what happened to what, and the revision or version that came of
 * it.
 */
export function eventKey(type: string, subject: string, number?: unknown): string {
  return typeof number === 'number' ? `${type} ${subject} ${number}` : `${type} ${subject}`
}

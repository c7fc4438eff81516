import { setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from '@holt/testkit'
import type { FleetHost } from '../../../e2e/support/fleet/fleet-host.ts'
import { entryOf } from './entry-of.ts'

/** A revoked key opens nothing on any host this long after the answer, in milliseconds. */
const revokedMs = 1_000

/** The time by which a stream may be seen to end later than it ended, in milliseconds. */
const slackMs = 500

/** A stream of events, as a client of a key reads it. */
interface OpenStream {
  readonly host: FleetHost
  /** The time of the last event, by `performance.now()`. */
  lastAt: number
  end(): void
}

/** A client that makes and revokes keys at random hosts, and tries each key after its end. */
export class Revoker {
  readonly #hosts: readonly FleetHost[]
  readonly #key: string
  readonly #chance: Chance
  readonly #faults: string[] = []
  #revoked = 0

  constructor(hosts: readonly FleetHost[], { key, chance }: { readonly key: string; readonly chance: Chance }) {
    this.#hosts = hosts
    this.#key = key
    this.#chance = chance
  }

  /** The answers that revoked keys got. */
  get faults(): readonly string[] {
    return this.#faults
  }

  /** The number of keys that were revoked and tried. */
  get revoked(): number {
    return this.#revoked
  }

  /** Makes, uses, revokes and tries one key. */
  async work(): Promise<void> {
    const json = { name: 'revoked', scopes: ['runtime:read', 'event:read'] }
    const made = await this.#ask('POST', '/v1/agents/key', json)
    if (made?.status !== 201) return void (await sleep(500))
    const { key, key_id: id } = made.json
    const streams = await Promise.all(this.#hosts.map((host) => openStream(host, key)))
    try {
      const revoked = await this.#ask('DELETE', `/v1/agents/key/${id}`)
      if (revoked?.status !== 204) return
      const at = performance.now()
      await sleep(revokedMs)
      await Promise.all(this.#hosts.map((host) => this.#try(host, id, key)))
      await sleep(slackMs)
      for (const stream of streams)
        if (stream !== null && stream.lastAt > at + revokedMs + slackMs)
          this.#faults.push(
            `${stream.host.place} sent an event to ${id} ${Math.round(stream.lastAt - at)} ms after its end`,
          )
      this.#revoked += 1
    } finally {
      for (const stream of streams) stream?.end()
    }
  }

  async #try(host: FleetHost, id: string, key: string): Promise<void> {
    const answer = await entryOf(host, key)
      .server.ask('GET', '/v1/agents/runtime')
      .catch(() => null) // It is cut off.
    if (answer !== null && answer.status < 400)
      this.#faults.push(`${host.place} answered ${answer.status} to ${id}, which was revoked a second before`)
  }

  #ask(method: string, path: string, json?: object) {
    const { server } = entryOf(this.#chance.pick(this.#hosts), this.#key)
    return server.ask(method, path, json === undefined ? {} : { json }).catch(() => null) // The host is cut off.
  }
}

/** Follows the events of a project. Null: the host does not answer. */
async function openStream(host: FleetHost, key: string): Promise<OpenStream | null> {
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(), 3_000)
  const headers = { authorization: `Bearer ${key}`, accept: 'application/x-ndjson' }
  const answer = await fetch(`${host.url}/v1/agents/event?follow=true`, { headers, signal: over.signal }).catch(
    () => null,
  ) // It is cut off.
  clearTimeout(timer)
  if (answer?.status !== 200 || answer.body === null) return null
  const stream = { host, lastAt: 0, end: () => over.abort() }
  void readAll(answer.body, () => {
    stream.lastAt = performance.now()
  })
  return stream
}

/** Reads a stream to its end. `onEvent` is called for each part with a line of an event. */
async function readAll(body: ReadableStream<Uint8Array>, onEvent: () => void): Promise<void> {
  const decoder = new TextDecoder()
  try {
    for await (const part of body) if (decoder.decode(part, { stream: true }).includes('"event_id"')) onEvent()
  } catch {
    // It was cut, or its reader has ended it.
  }
}

import { Command } from '@holt/protocol'
import { expect } from 'vitest'
import { success } from '../api.ts'
import { bytesOf, collect, follow } from '../output.ts'
import type { TestRuntime } from '../test-runtime.ts'
import { until } from '../until.ts'

/**
 * A background command that counts: each line is the one before and one more, so that nothing can
 * be lost, come twice or begin anew without being seen.
 */
export class Ticker {
  readonly commandId: string
  readonly runtime: TestRuntime

  private constructor(runtime: TestRuntime, commandId: string) {
    this.runtime = runtime
    this.commandId = commandId
  }

  /** Starts one that waits so long after each number. */
  static async start(runtime: TestRuntime, everySecs = 0.05): Promise<Ticker> {
    const command = `n=0; while :; do n=$((n+1)); echo $n; sleep ${everySecs}; done`
    const json = { command, background: true }
    const { command_id } = success(await runtime.call('POST', '/commands', { json }), 201, Command)
    return new Ticker(runtime, command_id)
  }

  /** The one that runs as this command. */
  static of(runtime: TestRuntime, commandId: string): Ticker {
    return new Ticker(runtime, commandId)
  }

  /** The same one in a runtime that was made of this one's. */
  in(runtime: TestRuntime): Ticker {
    return Ticker.of(runtime, this.commandId)
  }

  /** How far it is; expects that all before is there. */
  async count(): Promise<number> {
    const items = await collect(this.runtime, 'GET', `/commands/${this.commandId}/output`)
    expect(items.some(({ type }) => type === 'exit')).toBe(false)
    return expectCounted(bytesOf(items, 'stdout').toString())
  }

  /** Waits until the count is above `from`, and returns the count. */
  countsBeyond(from: number): Promise<number> {
    const counted = async () => {
      const count = await this.count()
      return count > from ? count : null
    }
    return until('the count grows', counted, 30_000)
  }

  /** Follows its output from the beginning until `stop`, and answers how far the stream came. */
  follow(): FollowedTicker {
    return new FollowedTicker(this)
  }
}

/** One stream of a ticker's output, which stays open over whatever happens. */
export class FollowedTicker {
  #text = ''
  #stopped = false
  readonly #done: Promise<void>

  constructor(ticker: Ticker) {
    this.#done = this.#read(ticker)
    this.#done.catch(() => undefined) // `reaches` and `stop` tell of it.
  }

  /** How far it is; expects that nothing before was lost or came twice. */
  get count(): number {
    return expectCounted(this.#text)
  }

  /** Waits until the stream has come to a number. */
  async reaches(count: number): Promise<void> {
    const broken = this.#done.then(() => Promise.reject(new Error('the stream has ended')))
    await Promise.race([broken, until(`the stream reaches ${count}`, async () => this.count >= count, 30_000)])
  }

  /** Stops with the next line. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#done
  }

  async #read({ runtime, commandId }: Ticker): Promise<void> {
    for await (const item of follow(runtime, 'GET', `/commands/${commandId}/output`, {
      query: { follow: true },
      timeoutMs: 10 * 60_000,
    })) {
      if (item.type === 'stdout') this.#text += item.data
      if (this.#stopped) return
      expect(['start', 'stdout']).toContain(item.type)
    }
    if (!this.#stopped) throw new Error('the stream has ended')
  }
}

/** Expects the numbers from 1 on, a line each, and answers the last. */
function expectCounted(text: string): number {
  const lines = text.split('\n').slice(0, -1)
  const wrong = lines.findIndex((line, index) => line !== `${index + 1}`)
  expect(lines[wrong], `line ${wrong + 1} of ${lines.length}`).toBeUndefined()
  return lines.length
}

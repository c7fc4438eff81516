import { readFileSync } from 'node:fs'
import { Command, StdinWritten } from '@holt/protocol'
import { z } from 'zod'
import { success } from '../api.ts'
import { follow } from '../output.ts'
import type { TestRuntime } from '../test-runtime.ts'

const program = readFileSync(new URL('../../probe/living.py', import.meta.url), 'utf8')

const Total = z.strictObject({ total: z.number(), orders: z.number() })
const Look = z.strictObject({
  ...Total.shape,
  pid: z.number(),
  digest: z.string(),
  ticks: z.number(),
  monotonic: z.number(),
  wall: z.number(),
})
const Identity = z.strictObject({
  uuid: z.string(),
  urandom: z.string(),
  hostname: z.string(),
  machine_id: z.string(),
})
const Reached = z.strictObject({ end: z.string(), received: z.string().optional() })

/** The state of the process. Clocks are in seconds. */
export type Look = z.infer<typeof Look>
/** The values that must differ in each clone of a runtime. */
export type Identity = z.infer<typeof Identity>

/**
 * A process inside a runtime that keeps things in its memory and answers orders; `probe/living.py`
 * says which.
 */
export class LivingProcess {
  readonly commandId: string
  readonly runtime: TestRuntime

  private constructor(runtime: TestRuntime, commandId: string) {
    this.runtime = runtime
    this.commandId = commandId
  }

  /** Starts one that holds so much memory. */
  static async start(runtime: TestRuntime, memoryMiB = 4): Promise<LivingProcess> {
    const json = { argv: ['python', '-c', program, `${memoryMiB}`], stdin: true, background: true, user: 'root' }
    const command = success(await runtime.call('POST', '/commands', { json }), 201, Command)
    return new LivingProcess(runtime, command.command_id)
  }

  /** The same process in a runtime that was made of this one's. */
  in(runtime: TestRuntime): LivingProcess {
    return new LivingProcess(runtime, this.commandId)
  }

  add(number: number): Promise<z.infer<typeof Total>> {
    return this.#ask({ add: number }, Total)
  }

  look(): Promise<Look> {
    return this.#ask({ look: true }, Look)
  }

  identity(): Promise<Identity> {
    return this.#ask({ identity: true }, Identity)
  }

  /** Connects over the network and keeps the connection. */
  async connect(host: string, port: number): Promise<string> {
    return (await this.#ask({ connect: [host, port] }, Reached)).end
  }

  /**
   * Sends a word over the connection that it keeps, and answers what came back: `received`, or how
   * it ended.
   */
  exchange(word: string): Promise<z.infer<typeof Reached>> {
    return this.#ask({ exchange: word }, Reached)
  }

  /**
   * It answers each order before it is given the next, so what it has written so far is before the
   * answer.
   */
  async #ask<Answer>(order: object, schema: z.ZodType<Answer>): Promise<Answer> {
    const path = `/commands/${this.commandId}`
    const { stdout_bytes: cursor } = success(await this.runtime.call('GET', path), 200, Command)
    const json = { data: `${JSON.stringify(order)}\n` }
    success(await this.runtime.call('POST', `${path}/stdin`, { json }), 200, StdinWritten)
    let line = ''
    for await (const item of follow(this.runtime, 'GET', `${path}/output`, { query: { cursor, follow: true } })) {
      if (item.type === 'stderr') throw new Error(`the process is broken: ${item.data}`)
      if (item.type === 'stdout') line += item.data
      if (line.endsWith('\n')) return schema.parse(JSON.parse(line))
    }
    throw new Error('the process has ended')
  }
}

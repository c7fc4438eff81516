import type { CommandHandle, Runtime } from '@holt/sdk'
import { expect } from 'vitest'
import { until } from '../until.ts'

/** Each line has a word that only the memory of the process has, and the next number. */
const program = (everySecs: number) => `
import os, time
word, count = os.urandom(8).hex(), 0
while True:
    count += 1
    print(word, count, flush=True)
    time.sleep(${everySecs})
`

/** Starts a process that counts until it is ended, and returns the id of its command. */
export async function startCounting(runtime: Runtime, everySecs = 0.05): Promise<string> {
  const { command_id } = await runtime.commands.start(['python3', '-c', program(everySecs)])
  await countsBeyond(runtime, command_id, 3)
  return command_id
}

/** The output of a counting process. */
export interface Counted {
  readonly word: string
  readonly count: number
}

/** Waits until a process has counted further than `count`, and returns how far it is. */
export async function countsBeyond(runtime: Runtime, commandId: string, count: number): Promise<Counted> {
  return until(
    'the process counts on',
    async () => {
      const counted = countedIn(await outputOf(await runtime.commands.get(commandId)))
      return counted.count > count ? counted : null
    },
    60_000,
  )
}

async function outputOf(command: CommandHandle): Promise<string> {
  let text = ''
  for await (const item of command.output({ follow: false })) if (item.type === 'stdout') text += item.data
  return text
}

/**
 * Returns how far the output of a process goes. Expects that no line is lost, repeated, or of
 * another process.
 */
function countedIn(text: string): Counted {
  const lines = text.split('\n').slice(0, -1)
  const word = lines[0]?.split(' ')[0] ?? ''
  const wrong = lines.findIndex((line, index) => line !== `${word} ${index + 1}`)
  expect(lines[wrong], `line ${wrong + 1} of ${lines.length}`).toBeUndefined()
  return { word, count: lines.length }
}

/** A reader of the output of a counting process, over whatever happens to its runtime. */
export class CountReader {
  readonly #stop = new AbortController()
  readonly #done: Promise<void>
  #text = ''

  private constructor(command: CommandHandle) {
    this.#done = this.#read(command)
    this.#done.catch(() => undefined) // `reaches` and `stop` tell of it.
  }

  static async of(runtime: Runtime, commandId: string): Promise<CountReader> {
    return new CountReader(await runtime.commands.get(commandId))
  }

  /** Waits until the reader has read further than a number. */
  async reaches(count: number, timeoutMs = 60_000): Promise<Counted> {
    const broken = this.#done.then(() => Promise.reject(new Error('the stream has ended')))
    const reached = until(`the reader reaches ${count}`, async () => countedIn(this.#text).count > count, timeoutMs)
    await Promise.race([broken, reached])
    return countedIn(this.#text)
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('enough was read'))
    await this.#done.catch(() => undefined) // It ends with the reason of the signal.
  }

  async #read(command: CommandHandle): Promise<void> {
    for await (const item of command.output({ signal: this.#stop.signal }))
      if (item.type === 'stdout') this.#text += item.data
  }
}

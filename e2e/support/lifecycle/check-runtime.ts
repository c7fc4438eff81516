import { createHash } from 'node:crypto'
import { Command, Upload } from '@holt/protocol'
import { expect } from 'vitest'
import { success } from '../api.ts'
import { bytesOf, collect } from '../output.ts'
import type { TestRuntime } from '../test-runtime.ts'
import { until } from '../until.ts'
import type { Expected } from './expected.ts'
import { Ticker } from './ticker.ts'

/** The directory of the files of the model. */
export const modelDir = '/srv/model'

const outputOf = async (runtime: TestRuntime, commandId: string) =>
  bytesOf(await collect(runtime, 'GET', `/commands/${commandId}/output`), 'stdout').toString()

const commandOf = async (runtime: TestRuntime, commandId: string) =>
  success(await runtime.call('GET', `/commands/${commandId}`), 200, Command)

/**
 * Holds a runtime against what it has to hold, byte for byte and process for process, and answers
 * the model with what was seen.
 */
export async function checkRuntime(runtime: TestRuntime, expected: Expected): Promise<Expected> {
  await checkFiles(runtime, expected)
  for (const [commandId, fed] of expected.keepers) await checkKeeper(runtime, commandId, fed)
  const tickers = new Map<string, number>()
  for (const [commandId, seen] of expected.tickers)
    tickers.set(commandId, await Ticker.of(runtime, commandId).countsBeyond(seen))
  for (const commandId of expected.timers) await checkTimer(runtime, commandId)
  await checkUpload(runtime, expected)
  if (expected.session !== null)
    expect((await runtime.run('echo $v', { session: 'model', user: 'root' })).stdout).toBe(`${expected.session}\n`)
  return { ...expected, tickers }
}

async function checkFiles(runtime: TestRuntime, { files }: Expected): Promise<void> {
  const said = await runtime.sh(`cd ${modelDir}; for f in *; do test -e "$f" && sha256sum "$f"; done || true`)
  const wanted = [...files].map(([name, content]) => `${createHash('sha256').update(content).digest('hex')}  ${name}`)
  expect(
    said
      .split('\n')
      .filter((line) => line !== '')
      .sort(byName),
  ).toEqual(wanted.sort(byName))
}

function byName(a: string, b: string): number {
  return a.slice(64) < b.slice(64) ? -1 : 1
}

async function checkKeeper(runtime: TestRuntime, commandId: string, fed: readonly number[]): Promise<void> {
  const sums = fed.map((_, index) => fed.slice(0, index + 1).reduce((sum, number) => sum + number, 0))
  const wanted = sums.map((sum) => `${sum}\n`).join('')
  let said = ''
  await until('the sums are there', async () => {
    said = await outputOf(runtime, commandId)
    return said.length >= wanted.length
  }).catch(() => undefined) // The comparison says what is missing.
  expect(said, `sums of ${commandId}`).toBe(wanted)
  expect((await commandOf(runtime, commandId)).state).toBe('running')
}

async function checkTimer(runtime: TestRuntime, commandId: string): Promise<void> {
  const ended = await until('the timer has rung', async () => {
    const command = await commandOf(runtime, commandId)
    return command.state === 'exited' ? command : null
  })
  expect(ended).toMatchObject({ exit_code: 0, signal: null, timed_out: false })
  expect(await outputOf(runtime, commandId)).toBe('rang\n')
}

async function checkUpload(runtime: TestRuntime, { upload }: Expected): Promise<void> {
  if (upload === null) return
  const query = { path: `${modelDir}/uploaded`, upload_id: upload.id }
  const state = success(await runtime.call('GET', '/files/upload', { query }), 200, Upload)
  expect(state).toMatchObject({ offset_bytes: upload.content.length, completed: false })
}

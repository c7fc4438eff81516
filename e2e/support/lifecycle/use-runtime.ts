import { Command, FileInfo, StdinWritten, Upload } from '@holt/protocol'
import { expect } from 'vitest'
import { success } from '../api.ts'
import type { TestRuntime } from '../test-runtime.ts'
import type { Action, UseAction } from './actions.ts'
import { modelDir } from './check-runtime.ts'
import { bytesOfSeed, type Expected, withEntry } from './expected.ts'

type Of<Type extends Action['type']> = Extract<Action, { type: Type }>

/** So many commands of each kind run in a runtime at the most. */
const mostCommands = 3

/** The name of a file of the model. */
export function nameOf(file: number): string {
  return `file-${file % 5}`
}

/**
 * Uses a runtime as its client would, and returns its expected content afterwards. A paused runtime
 * wakes.
 */
export async function useRuntime(runtime: TestRuntime, expected: Expected, action: UseAction): Promise<Expected> {
  switch (action.type) {
    case 'append':
      return append(runtime, expected, action)
    case 'remove':
      return remove(runtime, expected, action)
    case 'startKeeper':
      return startKeeper(runtime, expected)
    case 'startTicker':
      return startTicker(runtime, expected)
    case 'startTimer':
      return startTimer(runtime, expected)
    case 'feedKeeper':
      return feedKeeper(runtime, expected, action)
    case 'uploadPart':
      return uploadPart(runtime, expected, action)
    case 'finishUpload':
      return finishUpload(runtime, expected)
    case 'useSession':
      return useSession(runtime, expected, action)
  }
}

async function append(runtime: TestRuntime, expected: Expected, { file, seed }: Of<'append'>): Promise<Expected> {
  const name = nameOf(file)
  await runtime.sh(`echo ${seed} >> ${modelDir}/${name}`)
  const old = expected.files.get(name) ?? Buffer.alloc(0)
  return { ...expected, files: withEntry(expected.files, name, Buffer.concat([old, Buffer.from(`${seed}\n`)])) }
}

async function remove(runtime: TestRuntime, expected: Expected, { file }: Of<'remove'>): Promise<Expected> {
  const name = nameOf(file)
  await runtime.sh(`rm -f ${modelDir}/${name}`)
  return { ...expected, files: new Map([...expected.files].filter(([other]) => other !== name)) }
}

async function startCommand(runtime: TestRuntime, command: string, stdin = false): Promise<string> {
  const json = { command, stdin, background: true }
  return success(await runtime.call('POST', '/commands', { json }), 201, Command).command_id
}

async function startKeeper(runtime: TestRuntime, expected: Expected): Promise<Expected> {
  if (expected.keepers.size >= mostCommands) return expected
  const id = await startCommand(runtime, 'n=0; while read -r x; do n=$((n+x)); echo $n; done', true)
  return { ...expected, keepers: withEntry(expected.keepers, id, []) }
}

async function startTicker(runtime: TestRuntime, expected: Expected): Promise<Expected> {
  if (expected.tickers.size >= mostCommands) return expected
  const id = await startCommand(runtime, 'n=0; while :; do n=$((n+1)); echo $n; sleep 0.1; done')
  return { ...expected, tickers: withEntry(expected.tickers, id, 0) }
}

async function startTimer(runtime: TestRuntime, expected: Expected): Promise<Expected> {
  if (expected.timers.length >= mostCommands) return expected
  const id = await startCommand(runtime, 'sleep 2; echo rang')
  return { ...expected, timers: [...expected.timers, id] }
}

async function feedKeeper(
  runtime: TestRuntime,
  expected: Expected,
  { keeper, number }: Of<'feedKeeper'>,
): Promise<Expected> {
  const [id, fed] = [...expected.keepers][keeper % expected.keepers.size] ?? []
  if (id === undefined || fed === undefined) return expected
  const offset = fed.map((before) => `${before}\n`).join('').length
  const json = { data: `${number}\n`, offset }
  success(await runtime.call('POST', `/commands/${id}/stdin`, { json }), 200, StdinWritten)
  return { ...expected, keepers: withEntry(expected.keepers, id, [...fed, number]) }
}

async function uploadPart(
  runtime: TestRuntime,
  expected: Expected,
  { seed, bytes }: Of<'uploadPart'>,
): Promise<Expected> {
  const { id, content } = expected.upload ?? { id: `model-${crypto.randomUUID()}`, content: Buffer.alloc(0) }
  const body = bytesOfSeed(seed, bytes)
  const query = { path: `${modelDir}/uploaded`, upload_id: id, offset: content.length, partial: true }
  success(await runtime.call('PUT', '/files/content', { query, body }), 202, Upload)
  return { ...expected, upload: { id, content: Buffer.concat([content, body]) } }
}

async function finishUpload(runtime: TestRuntime, expected: Expected): Promise<Expected> {
  const { upload, files } = expected
  if (upload === null) return expected
  const query = { path: `${modelDir}/uploaded`, upload_id: upload.id, offset: upload.content.length }
  const answer = await runtime.call('PUT', '/files/content', { query, body: '.' })
  success(answer, files.has('uploaded') ? 200 : 201, FileInfo)
  const content = Buffer.concat([upload.content, Buffer.from('.')])
  return { ...expected, upload: null, files: withEntry(files, 'uploaded', content) }
}

async function useSession(runtime: TestRuntime, expected: Expected, { number }: Of<'useSession'>): Promise<Expected> {
  const session = (expected.session ?? 0) + number
  const { stdout } = await runtime.run(`v=$((v+${number})); echo $v`, { session: 'model', user: 'root' })
  expect(stdout).toBe(`${session}\n`)
  return { ...expected, session }
}

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError } from '@holt/engine'
import { expect, onTestFinished, test } from 'vitest'
import { explainTrial } from '../../src/host/explain-trial.ts'
import { Trials } from '../../src/host/trials.ts'
import { temporaryDirectory } from '../support/test-machine.ts'

const quiet = () => {}
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }

/** Trials whose boots a test decides. */
async function trialsOver(dir: string, boot: () => Promise<void>) {
  const made = { boots: 0, warnings: 0 }
  const trials = new Trials({
    file: join(dir, 'booted.json'),
    log: {
      ...log,
      warn: () => {
        made.warnings += 1
      },
    },
    boot: async () => {
      made.boots += 1
      await boot()
    },
    explain: async (isolation, error) => explainTrial(isolation, error),
  })
  onTestFinished(() => trials.close())
  return { trials, made }
}

async function place(): Promise<string> {
  const dir = await temporaryDirectory()
  onTestFinished(() => dir[Symbol.asyncDispose]())
  return dir.path
}

const fails = async () => {
  throw new EngineError('failed', 'cannot start the runtime', { cause: new Error('no such thing') })
}

test('boots once for all callers, and not again in a later process with the same versions', async () => {
  const dir = await place()
  const { trials, made } = await trialsOver(dir, async () => {})
  expect(await Promise.all([trials.lackOf('gvisor', 'one'), trials.lackOf('gvisor', 'one')])).toEqual([null, null])
  expect(made.boots).toBe(1)
  const next = await trialsOver(dir, fails)
  expect(await next.trials.lackOf('gvisor', 'one')).toBeNull()
  expect(next.made.boots).toBe(0)
  expect(await next.trials.lackOf('container', 'one')).not.toBeNull()
  expect((await next.trials.lackOf('gvisor', 'two'))?.reason).toMatch(
    /a trial start of a runtime fails \(no such thing\)/,
  )
  expect(next.made.boots).toBe(2)
  expect(JSON.parse(await readFile(join(dir, 'booted.json'), 'utf8'))).toEqual({})
})

test('a failing start of a proven class is retried at intervals', async () => {
  const dir = await place()
  await writeFile(join(dir, 'booted.json'), JSON.stringify({ gvisor: 'one' }))
  const { trials, made } = await trialsOver(dir, fails)
  expect(await trials.lackOf('gvisor', 'one')).toBeNull()
  expect((await trials.tryAgain('gvisor', 'one'))?.reason).toContain('no such thing')
  expect((await trials.tryAgain('gvisor', 'one'))?.reason).toContain('no such thing')
  expect((await trials.lackOf('gvisor', 'one'))?.reason).toContain('no such thing')
  expect(made.boots).toBe(1)
})

test('a failure is logged once per class and reason, and again after a success', async () => {
  const dir = await place()
  let reason = 'forbidden'
  const { trials, made } = await trialsOver(dir, async () => {
    if (reason !== '') throw new Error(reason)
  })
  // Each key is a trial of its own, as a repetition after some time is.
  const steps = [
    ['forbidden', 1],
    ['forbidden', 1],
    ['another', 2],
    ['', 2],
    ['another', 3],
  ] as const
  for (const [index, [next, warnings]] of steps.entries()) {
    reason = next
    await trials.lackOf('gvisor', `key ${index}`)
    expect(made).toEqual({ boots: index + 1, warnings })
  }
  await trials.lackOf('container', 'key')
  expect(made.warnings).toBe(4)
})

test('a full disk neither disproves nor proves a class', async () => {
  const dir = await place()
  const { trials } = await trialsOver(dir, async () => {
    throw new EngineError('no_space', 'the disk is full')
  })
  expect(await trials.lackOf('gvisor', 'one')).toBeNull()
  await expect(readFile(join(dir, 'booted.json'))).rejects.toMatchObject({ code: 'ENOENT' })
})

test.each(['', '[]', '{"gvisor":1}', 'no JSON'])('a damaged file proves nothing: %j', async (content) => {
  const dir = await place()
  await writeFile(join(dir, 'booted.json'), content)
  const { trials, made } = await trialsOver(dir, async () => {})
  expect(await trials.lackOf('gvisor', 'one')).toBeNull()
  expect(made.boots).toBe(1)
})

test('ends a running trial on close', async () => {
  const dir = await place()
  const begun = Promise.withResolvers<void>()
  const trials = new Trials({
    file: join(dir, 'booted.json'),
    log,
    boot: (_, signal) => {
      begun.resolve()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
    explain: async (isolation, error) => explainTrial(isolation, error),
  })
  const asked = trials.lackOf('gvisor', 'one')
  await begun.promise
  await trials.close()
  expect(await asked).toBeNull()
})

test.each([
  [
    'runsc ended with 128: {"msg":"first","level":"info"}\n{"msg":"starting container: \\"no\\" way","level":"error"}',
    'starting container: "no" way',
  ],
  ['runc ended with 1: exec: no such file', 'runc ended with 1: exec: no such file'],
  ['', 'no reason is known'],
])('quotes the last output of runsc: %j', (message, words) => {
  const error = new EngineError('failed', 'cannot start the runtime', { cause: new EngineError('failed', message) })
  expect(explainTrial('gvisor', error).reason).toContain(`(${words})`)
})

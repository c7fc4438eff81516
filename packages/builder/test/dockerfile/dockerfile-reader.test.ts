import { readdirSync, readlinkSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DockerfileReader } from '../../src/dockerfile/dockerfile-reader.ts'
import { checkDockerfile, planDockerfile } from '../../src/dockerfile/plan-dockerfile.ts'
import type { ThreadLimits } from '../../src/dockerfile/reading-thread.ts'

const generous: ThreadLimits = { timeoutMs: 60_000, heapMiB: 256, idleMs: 60_000 }
const wanted = { projectId: 'p', signal: new AbortController().signal }

function readerOf(limits: Partial<ThreadLimits> = {}) {
  const reader = new DockerfileReader({ ...generous, ...limits })
  onTestFinished(() => reader.close())
  return reader
}

/**
 * Returns the processor time of this thread in milliseconds that work takes, regardless of the
 * machine's load.
 */
async function ownCpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage()
  await work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

const slow = [`ARG X=${'a'.repeat(200_000)}`, ...Array.from({ length: 20 }, (_, at) => `ARG Y${at}=\${X//*a*a*b/z}`)]
const text = `ARG A=1\n${'FROM debian AS b\nENV B=$A\nCOPY --from=holt/base-small . .\nNONE x\n'.repeat(3)}`

test('a worker thread returns the same as the functions', async () => {
  const reader = readerOf()
  expect(await reader.check(text, { buildArgs: { C: 'd' } }, wanted)).toEqual(
    checkDockerfile(text, { buildArgs: { C: 'd' } }),
  )
  const good = text.replaceAll('NONE x\n', '')
  const plan = await reader.plan(good, { target: 'b' }, wanted)
  expect(plan).toEqual({ ...planDockerfile(good, { target: 'b' }), globalArgs: { ...plan.globalArgs } })
})

test('a refusal keeps its code, hint and details', async () => {
  await expect(readerOf().plan(text, {}, wanted)).rejects.toMatchObject({
    name: 'BuildError',
    code: 'dockerfile_invalid',
    hint: expect.any(String),
    details: { lines: expect.any(Array) },
  })
})

test.each([
  [
    'stages',
    Array.from({ length: 101 }, (_, at) => `FROM ${at === 0 ? 'scratch' : `s${at - 1}`} AS s${at}`).join('\n'),
    /100 stages/,
  ],
  ['steps', `FROM scratch\n${'RUN true\n'.repeat(2001)}`, /2000 steps/],
  ['words', `FROM scratch\n${`ENV ${'a=b '.repeat(1000)}\n`.repeat(51)}`, /Line 52: .* more than 50000 names/],
])('a plan of too many %s stays in its thread', async (_, many, why) => {
  await expect(readerOf().plan(many, {}, wanted)).rejects.toThrow(why)
})

test('slow Dockerfiles do not block the thread of the service', async () => {
  const reader = readerOf()
  await reader.check('FROM scratch', {}, wanted)
  const input = [...slow, 'FROM scratch'].join('\n')
  const beside = await ownCpuMs(() => Promise.all(Array.from({ length: 8 }, () => reader.check(input, {}, wanted))))
  const within = await ownCpuMs(async () => {
    for (let at = 0; at < 8; at += 1) checkDockerfile(input)
  })
  expect(beside).toBeLessThan(within / 2)
})

test('a slow Dockerfile is stopped with its thread, and the next is parsed', async () => {
  const reader = readerOf({ timeoutMs: 1 })
  await expect(reader.check(slow.join('\n'), {}, wanted)).rejects.toMatchObject({
    code: 'dockerfile_invalid',
    message: 'Reading the Dockerfile takes longer than 0.001 seconds.',
    hint: expect.any(String),
  })
  expect(reader.waiting('p')).toEqual({ ofProject: 0, ofAll: 0 })
})

test('a Dockerfile that uses too much memory is stopped, and the process and the next one are not', async () => {
  const reader = readerOf({ heapMiB: 12 })
  const many = `FROM scratch\n${`ENV ${'a=b '.repeat(1000)}\n`.repeat(250)}`
  await expect(reader.plan(many, {}, wanted)).rejects.toMatchObject({
    code: 'dockerfile_invalid',
    message: 'Reading the Dockerfile takes more than 12 MiB of memory.',
  })
})

test('a cancelled parse ends, queued or running', async () => {
  const reader = readerOf()
  const [first, second] = [new AbortController(), new AbortController()]
  const begun = reader.check(slow.join('\n'), {}, { projectId: 'p', signal: first.signal })
  const waits = reader.check('FROM scratch', {}, { projectId: 'p', signal: second.signal })
  await setImmediate()
  expect(reader.waiting('p')).toEqual({ ofProject: 1, ofAll: 1 })
  second.abort(new Error('waited'))
  await expect(waits).rejects.toThrow('waited')
  first.abort(new Error('begun'))
  await expect(begun).rejects.toThrow('begun')
  expect(await reader.check('FROM scratch', {}, wanted)).toMatchObject({ ok: true })
})

/** Returns the number of event loops of this process: each thread has one. */
function eventLoops(): number {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return '' // It was closed meanwhile.
    }
  })
  return links.filter((link) => link === 'anon_inode:[eventpoll]').length
}

test('an idle thread ends, and the next Dockerfile has a new one', async () => {
  const before = eventLoops()
  const reader = readerOf({ idleMs: 50 })
  for (let round = 0; round < 2; round += 1) {
    expect((await reader.check('FROM debian\n', {}, wanted)).ok).toBe(true)
    await vi.waitFor(() => expect(eventLoops()).toBe(before), { timeout: 10_000 })
  }
})

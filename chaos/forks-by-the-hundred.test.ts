import { Fork, Runtime } from '@holt/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { anyFailure, call, runtimesPath, success } from '../e2e/support/api.ts'
import { service } from '../e2e/support/facts.ts'
import { createRuntime, type TestRuntime } from '../e2e/support/test-runtime.ts'
import { short } from './support/length.ts'
import { OwnProject } from './support/own-project.ts'
import { withstand } from './support/withstand.ts'

/** The number of forks requested at once. */
const forks = short(40, 200)

/** The number of children that the quota leaves beside the parent. */
const children = 3

/** Time within which every fork is answered, including the last one in the queue. */
const forkMs = 120_000

/**
 * Answers to a fork beyond the quota, or one whose parent is paused by other forks for too long.
 */
const refusals = ['quota_exceeded', 'rate_limited', 'capacity_exhausted']

let bystander: TestRuntime
let attacker: OwnProject
beforeAll(async () => {
  bystander = await createRuntime({ isolation: 'gvisor' })
  attacker = await OwnProject.make('forks', { runtimes: children + 1 })
})
afterAll(() => attacker?.[Symbol.asyncDispose]())

it.skipIf(service.unavailable.gvisor !== null)(
  'hundreds of forks of one runtime',
  async () => {
    const told: Record<string, number> = {}
    await withstand({ name: 'forks by the hundred', bystander, growthMiB: 192 }, async () => {
      const answers = await Promise.all(Array.from({ length: forks }, askForFork))
      for (const answer of answers) for (const code of codesOf(answer)) told[code] = (told[code] ?? 0) + 1
      // The service has descriptors of each child, and they must be closed afterwards.
      await removeChildren()
      return told
    })
    expect(told.made, JSON.stringify(told)).toBe(children)
    expect(Object.keys(told)).toEqual(expect.arrayContaining(['quota_exceeded']))
    expect(['made', ...refusals]).toEqual(expect.arrayContaining(Object.keys(told)))
    expect((await attacker.call('POST', '/commands', { json: { command: 'true' } })).status).toBe(200)
  },
  forkMs + 180_000,
)

function askForFork() {
  return attacker.call('POST', '/fork', { json: {}, timeoutMs: forkMs })
}

/** Returns `made` for each child, and the code of each error. */
function codesOf(answer: Awaited<ReturnType<typeof askForFork>>): readonly string[] {
  if (answer.status !== 201) return [anyFailure(answer).code]
  return success(answer, 201, Fork).data.map(({ error }) => error?.code ?? 'made')
}

async function removeChildren(): Promise<void> {
  const { data } = success(
    await call('GET', runtimesPath, { key: attacker.key }),
    200,
    z.object({ data: z.array(Runtime) }),
  )
  for (const { runtime_id: id } of data)
    if (!attacker.runtimePath.endsWith(id)) await call('DELETE', `${runtimesPath}/${id}`, { key: attacker.key })
}

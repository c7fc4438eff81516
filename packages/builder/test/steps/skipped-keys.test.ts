import { longestPieceMs } from '@holt/testkit'
import { expect, test } from 'vitest'
import { planDockerfile } from '../../src/dockerfile/plan-dockerfile.ts'
import { plannedKeys } from '../../src/steps/skipped-keys.ts'

const planOf = (lines: readonly string[]) => planDockerfile(['FROM scratch', ...lines].join('\n'), {})

test('names each platform key once for each line, in order', () => {
  const found = plannedKeys(planOf(['ENV PATH=a PATH=b HOME=c', 'ENV X=1', 'ENV PATH=d']), { env: {} })
  expect(found.map(({ instruction, line }) => [instruction, line])).toEqual([
    ['ENV PATH', 2],
    ['ENV HOME', 2],
    ['ENV PATH', 4],
  ])
})

test('is fast with the maximum of lines, and names the first ones', () => {
  const pairs = Array.from({ length: 25 }, (_, at) => `${at % 2 === 0 ? 'PATH' : 'HOME'}=${at}`).join(' ')
  const plan = planOf(Array.from({ length: 1_990 }, () => `ENV ${pairs}`))
  const before = process.threadCpuUsage()
  const found = plannedKeys(plan, { env: {} })
  const { user, system } = process.threadCpuUsage(before)
  expect(found).toHaveLength(200)
  expect(found.at(-1)?.line).toBe(101)
  expect((user + system) / 1000).toBeLessThan(longestPieceMs)
})

import { expect, it } from 'vitest'
import { parseSpawns, spawnCommand } from '../../../support/floors/spawn-inside.ts'
import { runProgram } from '../../../support/run-program.ts'

it('times each spawn of every client', async () => {
  const asked = { clients: 3, each: 4 }
  const output = await runProgram(spawnCommand(asked), { timeoutMs: 60_000 })
  const times = parseSpawns(output, asked)
  expect(times).toHaveLength(12)
  for (const ms of times) expect(ms).toBeGreaterThan(0)
})

it.each([
  ['too few', '1.0 2.0\n'],
  ['too many', '1.0 2.0\n1.0 2.0\n1.0 2.0\n'],
  ['words', '1.0 2.0\nbash: no such file\n'],
])('refuses %s', (_, output) => {
  expect(() => parseSpawns(output, { clients: 1, each: 2 })).toThrow('not 2 pairs of times')
})

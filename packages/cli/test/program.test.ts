import { expect, test } from 'vitest'
import { buildProgram, buildWholeProgram } from '../src/program.ts'
import { verbGroups } from '../src/verbs.ts'

const verbs = Object.values(verbGroups).flatMap((group) => Object.keys(group))

test('the whole program has the verbs of the table, in its order', async () => {
  expect((await buildWholeProgram()).commands.map((one) => one.name())).toEqual(verbs)
})

test('a command line has its own verb alone', async () => {
  for (const verb of verbs)
    expect((await buildProgram([verb, '--help'])).commands.map((one) => one.name())).toEqual([verb])
  expect((await buildProgram(['--', 'ls'])).commands.map((one) => one.name())).toEqual(['ls'])
})

test.each([[[]], [['--help']], [['help', 'ls']], [['nonsense']], [['toString']]])(
  '%j has all verbs, which the help and the suggestions name',
  async (args) => {
    expect((await buildProgram(args)).commands).toHaveLength(verbs.length)
  },
)

import type { Command } from 'commander'
import { expect, test } from 'vitest'
import type { CommandOutline } from '../src/outline/outline-of.ts'
import { buildProgram } from '../src/program.ts'
import { verbOutlines } from '../src/verb-outlines.ts'
import { verbGroups } from '../src/verbs.ts'
import { buildWholeProgram } from '../src/whole-program.ts'

const verbs = Object.values(verbGroups).flatMap((group) => Object.keys(group))

test('the whole program has the verbs of the table, in its order', async () => {
  expect((await buildWholeProgram()).commands.map((one) => one.name())).toEqual(verbs)
})

test('a command line loads only its own verb', async () => {
  for (const verb of verbs)
    expect((await buildProgram([verb, '--help'])).commands.map((one) => one.name())).toEqual([verb])
  expect((await buildProgram(['--', 'ls'])).commands.map((one) => one.name())).toEqual(['ls'])
})

test.each([[[]], [['--help']], [['help', 'ls']], [['nonsense']], [['toString']]])(
  '%j has all verbs, for the help and the suggestions',
  async (args) => {
    expect((await buildProgram(args)).commands).toHaveLength(verbs.length)
  },
)

/** The commands without commands of their own, with the words that lead to them. */
function leavesOf(outline: CommandOutline, before: readonly string[] = []): readonly [string, CommandOutline][] {
  const words = [...before, outline.name]
  if (outline.commands.length === 0) return [[words.join(' '), outline]]
  return outline.commands.flatMap((one) => leavesOf(one, words))
}

test('every list can be printed as ids, one per line', () => {
  const lists = verbOutlines
    .flatMap((outline) => leavesOf(outline))
    .filter(
      ([, { description, options }]) => /^list /.test(description) && options.some(({ flags }) => flags === '--json'),
    )
  expect(lists.map(([words]) => words)).toEqual(expect.arrayContaining(['ls', 'ps', 'secret ls', 'template builds']))
  for (const [words, { options }] of lists)
    expect([words, options.map(({ flags }) => flags)]).toEqual([words, expect.arrayContaining(['-q, --quiet'])])
})

/** Returns the printed help of a command and of all its subcommands. */
function helpOf(command: Command): readonly string[] {
  let help = ''
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp()
  return [help, ...command.commands.flatMap(helpOf)]
}

test('the outlines match the verbs, and survive JSON', async () => {
  const outlined = await buildProgram(['--help'])
  const { commands } = await buildWholeProgram()
  expect(outlined.commands.flatMap(helpOf)).toEqual(commands.flatMap(helpOf))
  expect(outlined.helpInformation()).toBe((await buildWholeProgram()).helpInformation())
  expect(JSON.parse(JSON.stringify(verbOutlines))).toEqual(verbOutlines)
})

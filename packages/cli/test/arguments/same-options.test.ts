import type { Command } from 'commander'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { buildWholeProgram } from '../../src/whole-program.ts'
import { runHolt } from '../support/run-holt.ts'

/** Every command with the words that lead to it. */
function commandsBelow(command: Command, words: readonly string[] = []): readonly (readonly [string, Command])[] {
  return command.commands.flatMap((each) => {
    const line = [...words, each.name()]
    return [[line.join(' '), each] as const, ...commandsBelow(each, line)]
  })
}

const commands = commandsBelow(await buildWholeProgram())
const optionsOf = (command: Command) => command.options.flatMap(({ short, long }) => [short, long])

describe('an option has the same meaning in every command', () => {
  test.each(
    commands.filter(([, command]) => /^(?:list|show (?:what happened|who did)|the groups)/.test(command.description())),
  )('the list holt %s takes -q', (_, command) => {
    expect(optionsOf(command)).toEqual(expect.arrayContaining(['-q', '--quiet', '--json']))
  })

  test.each(commands.filter(([line]) => /(?:^| )rm$/.test(line)))('holt %s takes -f', (_, command) => {
    expect(optionsOf(command)).toEqual(expect.arrayContaining(['-f', '--force']))
  })

  test.each(commands.filter(([line]) => /(?:^| )logs?$|^events$/.test(line)))(
    'the log holt %s takes -f, -n and --since',
    (_, command) => {
      expect(optionsOf(command)).toEqual(expect.arrayContaining(['-f', '-n', '--since']))
    },
  )
})

describe('rm', () => {
  let service: TestService
  beforeEach(async () => {
    service = await startTestService()
  })
  afterEach(() => service.close())

  test.each(['key', 'policy', 'project', 'provider', 'secret', 'snapshot', 'template', 'webhook'])(
    '%s rm -f succeeds if there is nothing to delete',
    async (thing) => {
      expect(await runHolt([thing, 'rm', '-f'], { service })).toEqual({ code: 0, stdout: '', stderr: '' })
      expect(await runHolt([thing, 'rm'], { service })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`Name what to delete: holt ${thing} ls`),
      })
    },
  )

  test('with -f, a missing resource is no failure; another error is one', async () => {
    expect(await runHolt(['secret', 'rm', '-f', 'gone'], { service })).toMatchObject({
      code: 0,
      stderr: 'gone is not there\n',
    })
    expect((await runHolt(['secret', 'rm', 'gone'], { service })).code).toBe(1)
    const nowhere = { HOLT_URL: 'http://127.0.0.1:2', HOLT_API_KEY: 'x' }
    expect((await runHolt(['secret', 'rm', '-f', 'gone'], { env: nowhere })).code).toBe(1)
  })
})

import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { addDeadlineOptions, type DeadlineOptions, deadlineFields } from '../../src/arguments/deadline-options.ts'
import { durationSecs, seconds } from '../../src/arguments/parse.ts'

/** The fields that a command line asks for. */
function fieldsFor(args: readonly string[]): unknown {
  const command = addDeadlineOptions(new Command(), { of: 'made' })
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
  command.parse([...args], { from: 'user' })
  return deadlineFields(command.opts<DeadlineOptions>())
}

test.each([
  [[], {}],
  [['--timeout', '90'], { timeout_secs: 90 }],
  [['--timeout', 'none', '--idle-timeout', '10m'], { timeout_secs: null, idle_timeout_secs: 600 }],
  [['--on-timeout', 'terminate'], { on_timeout: 'terminate' }],
  [['--no-auto-resume'], { auto_resume: false }],
  [['--auto-resume'], { auto_resume: true }],
])('%j requests %j', (args, fields) => {
  expect(fieldsFor(args)).toEqual(fields)
})

test('on_timeout has two values', () => {
  expect(() => fieldsFor(['--on-timeout', 'sleep'])).toThrow('Allowed choices are pause, terminate')
})

describe('a time', () => {
  test.each([
    ['1', 1],
    ['90s', 90],
    ['30m', 1800],
    ['2h', 7200],
    ['1.5d', 129_600],
    ['0.5', 1],
    ['30d', 2_592_000],
    ['none', 'none'],
    ['0', 'none'],
  ])('%s is %j', (text, seconds) => {
    expect(durationSecs(text)).toBe(seconds)
  })

  test.each(['', 'soon', '-1', '1w', '2 h', '31d', '0m', '1e3', 'NaN'])('%j is not a duration', (text) => {
    expect(() => durationSecs(text)).toThrow(/^It must be /)
  })
})

test.each([
  ['1.5', 1.5],
  ['30m', 1800],
  ['0', 0],
  ['none', 0],
])('a limit of %s is %j seconds', (text, wanted) => {
  expect(seconds(text)).toBe(wanted)
})

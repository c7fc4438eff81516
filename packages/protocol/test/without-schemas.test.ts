import { expect, test } from 'vitest'
import {
  EventTypePattern,
  isEventTypePattern,
  isIdParam,
  isQuotaAmount,
  isSignalName,
  makeId,
  quotaNames,
  quotaSchemas,
  SignalName,
} from '../src/index.ts'

const numbers = [
  -1,
  -0.5,
  0,
  0.5,
  1,
  1.5,
  999_999.5,
  1_000_000,
  1_000_000.5,
  1_000_001,
  2 ** 53 - 1,
  2 ** 53,
  Infinity,
  NaN,
]

test.each(quotaNames)('an amount of %s is valid for clients if its schema accepts it', (name) => {
  for (const amount of numbers)
    expect(isQuotaAmount(name, amount), String(amount)).toBe(quotaSchemas[name].safeParse(amount).success)
})

test.each([
  'SIGTERM',
  'SIGKILL',
  'SIGRTMIN',
  'SIGRTMIN+1',
  'SIGRTMIN+30',
  'SIGRTMIN+31',
  'SIGRTMIN+0',
  'TERM',
  'sigterm',
  '',
])('a signal %j is valid for clients if its schema accepts it', (name) => {
  expect(isSignalName(name)).toBe(SignalName.safeParse(name).success)
})

test.each(['build.ready', 'runtime.*', 'runtime.', '*', 'build', ''])(
  'a type of event %j is valid for clients if its schema accepts it',
  (text) => {
    expect(isEventTypePattern(text)).toBe(EventTypePattern.safeParse(text).success)
  },
)

test('an id has its prefix and nothing else', () => {
  const id = makeId('runtime')
  expect(isIdParam('runtime_id', id)).toBe(true)
  expect(
    [`${id}\n`, ` ${id}`, `${id}a`, id.slice(1), makeId('key')].map((text) => isIdParam('runtime_id', text)),
  ).toEqual(Array(5).fill(false))
})

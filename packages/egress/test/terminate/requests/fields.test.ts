import { hopByHopHeaders } from '@holt/protocol'
import { expect, test } from 'vitest'
import { endToEnd } from '../../../src/terminate/requests/fields.ts'

test.each(hopByHopHeaders)('%s is for one connection only, however it is written', (name) => {
  const fields = [
    [name, 'x'],
    [name.toUpperCase(), 'x'],
    ['X-Own', 'kept'],
  ] as const
  expect(endToEnd(fields)).toEqual([['X-Own', 'kept']])
})

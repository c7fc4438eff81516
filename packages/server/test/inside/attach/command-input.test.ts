import { Readable } from 'node:stream'
import type { GuestLink } from '@holt/engine'
import { GuestClient } from '@holt/guest-client'
import { describe, expect, test } from 'vitest'
import { CommandInput } from '../../../src/inside/attach/command-input.ts'

const signal = AbortSignal.timeout(60_000)

/** Returns the writes to a guest that gives these answers, one after another. */
async function writesOf(answers: readonly object[], text: string) {
  const writes: { readonly operation: string | undefined; readonly text: string }[] = []
  const link: GuestLink = {
    connected: true,
    request: async ({ headers, body }) => {
      writes.push({ operation: headers?.['x-holt-operation'], text: String(body) })
      return {
        status: 200,
        headers: {},
        body: Readable.from([Buffer.from(JSON.stringify(answers[writes.length - 1]))]),
      }
    },
  }
  const guest = new GuestClient(link, { operation: () => null })
  const input = new CommandInput({ guest, commandId: 'cm1', client: 'somebody' })
  input.continueAt(0)
  await input.write(input.place(Buffer.from(text)), signal)
  expect(writes).toHaveLength(answers.length)
  const [first] = writes
  const digest = first?.operation?.replace(/-0-0$/, '')
  return writes.map(({ operation, text }) => [operation?.replace(`${digest}-`, ''), text])
}

describe('the input of a command that does not read', () => {
  const refused = { written_bytes: 0, offset: 0, remembered: false }

  test('is sent again as the same operation', async () => {
    const answers = [
      refused,
      refused,
      refused,
      { written_bytes: 2, offset: 2 },
      refused,
      { written_bytes: 1, offset: 3 },
    ]
    expect(await writesOf(answers, 'abc')).toEqual([
      ['0-0', 'abc'],
      ['0-0', 'abc'],
      ['0-0', 'abc'],
      ['0-0', 'abc'],
      ['2-0', 'c'],
      ['2-0', 'c'],
    ])
  })

  test('has another operation for a guest of an earlier version, which repeats its answers', async () => {
    const earlier = { written_bytes: 0, offset: 0 }
    const answers = [earlier, earlier, { written_bytes: 2, offset: 2 }, { written_bytes: 1, offset: 3 }]
    expect(await writesOf(answers, 'abc')).toEqual([
      ['0-0', 'abc'],
      ['0-1', 'abc'],
      ['0-2', 'abc'],
      ['2-0', 'c'],
    ])
  })
})

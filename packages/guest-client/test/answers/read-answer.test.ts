import { Readable } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { GuestClient } from '../../src/index.ts'

/** Asks a guest that answers this, whatever it is asked. */
function ask(answer: string, status = 200) {
  const body = Readable.from([Buffer.from(answer)], { objectMode: false })
  const link = { connected: true, request: async () => ({ status, headers: {}, body }) }
  return new GuestClient(link).processes.list(new AbortController().signal)
}

test.each([
  ['brackets', '['.repeat(1000)],
  ['objects', '{"a":'.repeat(1000)],
  ['more values than any answer has', `[${'{},'.repeat(600_000)}{}]`],
])('an answer of %s is refused before it is parsed', async (_, answer) => {
  const parse = vi.spyOn(JSON, 'parse')
  try {
    await expect(ask(answer)).rejects.toMatchObject({ name: 'EngineError', kind: 'wrong_answer' })
    expect(parse).not.toHaveBeenCalled()
  } finally {
    parse.mockRestore()
  }
})

test.each([
  ['program_not_found', /PATH/],
  ['program_not_executable', /file executable/],
  ['stdin_closed', /details\.issues/],
])('a refusal for %s says what to do', async (reason, hint) => {
  const failure = JSON.stringify({ error: { code: 'invalid_request', message: 'no', details: { reason } } })
  await expect(ask(failure, 400)).rejects.toMatchObject({ details: { reason }, hint: expect.stringMatching(hint) })
})

test('an answer with very many values is parsed if few are allowed elsewhere', async () => {
  const processes = JSON.stringify({ processes: [], more: Array.from({ length: 200_000 }, (_, n) => ({ n })) })
  await expect(ask(processes)).resolves.toEqual([])
})

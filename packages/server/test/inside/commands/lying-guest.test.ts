import { Command, FileInfo, pageOf, Session } from '@holt/protocol'
import { expect, test } from 'vitest'
import type { z } from 'zod'
import { changeAnswers } from '../../support/changed-answers.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const attack = '$(touch /tmp/PWNED)'
const lastMomentMs = 253_402_300_799_999

/**
 * A route, its request to the guest, the place of the named list in the guest's answer, and the
 * schema of the API's answer.
 */
const routes: readonly {
  readonly url: string
  readonly asked: string
  readonly list: string | null
  readonly answer: z.ZodType
  readonly names: readonly string[]
  readonly utmost: Readonly<Record<string, unknown>>
}[] = [
  {
    url: '/sessions',
    asked: '/v1/sessions',
    list: 'sessions',
    answer: pageOf(Session),
    names: ['name', 'shell', 'user', 'cwd', 'current'],
    utmost: { name: 'a'.repeat(64), commands: Number.MAX_SAFE_INTEGER, started_at_ms: 0, used_at_ms: lastMomentMs },
  },
  {
    url: '/commands',
    asked: '/v1/processes',
    list: 'processes',
    answer: pageOf(Command),
    names: ['id', 'user', 'cwd', 'signal', 'state', 'session'],
    utmost: { pid: 2 ** 31 - 1, command: '\u001b[2J'.repeat(1000), started_at_ms: 0, ended_at_ms: lastMomentMs },
  },
  {
    url: '/files/list?path=/workspace',
    asked: '/v1/files/list?path=%2Fworkspace&depth=1&limit=1000',
    list: 'entries',
    answer: pageOf(FileInfo),
    names: ['path', 'name', 'type', 'mode', 'permissions', 'user', 'group', 'path_base64'],
    utmost: { uid: 2 ** 32 - 1, size_bytes: Number.MAX_SAFE_INTEGER, modified_at_ms: -8.64e15 },
  },
  {
    url: '/files/stat?path=/workspace/f',
    asked: '/v1/files/stat?path=%2Fworkspace%2Ff',
    list: null,
    answer: FileInfo,
    names: ['path', 'name', 'type', 'mode', 'permissions', 'user', 'group', 'path_base64'],
    utmost: { uid: 2 ** 32 - 1, symlink_target: '\u001b[2J', modified_at_ms: 8.64e15 },
  },
]

test.each(routes)('$url answers nothing outside its schema', async ({ url, asked, list, answer, names, utmost }) => {
  const { ask, makeRuntime, engine } = await startTestServer()
  const id = await makeRuntime()
  const path = `/v1/agents/runtime/${id}`
  await ask('POST', `${path}/files/mkdir`, { json: { path: '/workspace/f' } })
  await ask('POST', `${path}/commands`, { json: { command: 'echo on', session: 'dev' } })
  let lie: Readonly<Record<string, unknown>> = {}
  changeAnswers(engine.guest(id), asked, (told) => {
    if (list === null) return { ...told, ...lie }
    return { ...told, [list]: (told[list] as object[]).map((one) => ({ ...one, ...lie })) }
  })
  const honest = await ask('GET', path + url)
  expect(answer.safeParse(honest.json).error, JSON.stringify(honest.json)).toBeUndefined()
  expect(list === null || honest.json.data.length > 0).toBe(true)
  lie = utmost
  const most = await ask('GET', path + url)
  expect(answer.safeParse(most.json).error, JSON.stringify(most.json)).toBeUndefined()
  for (const name of names) {
    lie = { [name]: attack }
    const { status, json } = await ask('GET', path + url)
    expect([name, status, json.error?.code]).toEqual([name, 503, 'unavailable'])
    expect(json.error.message).toBe("The runtime's guest sent an invalid answer.")
    expect(JSON.stringify(json)).not.toContain('PWNED')
  }
})

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { TestAttachment } from '../../support/attach.ts'
import { startAttachServer } from '../../support/attach-server.ts'
import { steeredEngine } from '../../support/steered-engine.ts'

const pty = { cols: 80, rows: 24 }

/** A server whose resumes are counted, and a runtime of it that can be paused. */
async function setUp(runtime: object = {}) {
  const { engine, counts } = steeredEngine()
  const server = await startAttachServer({ engine }, runtime)
  const { ask, path } = server
  const made = counts.ensure ?? 0
  return {
    ...server,
    state: async () => (await ask('GET', path)).json.state,
    pause: async () => expect((await ask('POST', `${path}/pause`)).json.state).toBe('paused'),
    resumes: () => (counts.ensure ?? 0) - made,
  }
}

const isOpen = ({ ws }: TestAttachment) => ws.readyState === ws.OPEN
const shows = (attachment: TestAttachment, text: string) => expect.poll(() => attachment.text).toBe(text)

test('an attachment resumes a paused runtime; several resume it once, and all get the earlier output', async () => {
  const { start, attached, pause, resumes, state } = await setUp()
  const id = await start({ command: 'cat', pty })
  const before = await attached(id, '?write=true')
  before.type('before;')
  await shows(before, 'before;')
  before.ws.close()
  await before.closed
  await pause()
  const many = await Promise.all(
    Array.from({ length: 5 }, (_, index) => attached(id, index === 0 ? '?write=true' : '')),
  )
  expect([await state(), resumes()]).toEqual(['running', 1])
  many[0]?.type('after;')
  for (const one of many) await shows(one, 'before;after;')
})

test('attachments stay open over a pause, and input resumes the runtime', async () => {
  const { start, attached, pause, resumes, state } = await setUp()
  const ids = [
    await start({ command: 'cat', pty }),
    await start({ command: 'cat', pty }),
    await start({ command: 'cat', pty }),
  ]
  const writers = await Promise.all(ids.map((id) => attached(id, '?write=true')))
  const watcher = await attached(ids[0] ?? '')
  for (const writer of writers) writer.type('before;')
  for (const one of [...writers, watcher]) await shows(one, 'before;')
  for (let round = 1; round <= 3; round += 1) {
    await pause()
    await sleep(200) // That nothing happens takes a while to see.
    expect([await state(), resumes(), [...writers, watcher].every(isOpen)]).toEqual(['paused', round - 1, true])
    for (const writer of writers) writer.type(`${round};`)
    const said = `before;${[1, 2, 3].slice(0, round).join(';')};`
    for (const one of [...writers, watcher]) await shows(one, said)
    expect([await state(), resumes()]).toEqual(['running', round])
  }
  for (const writer of writers) expect(writer.last('input')?.taken_bytes).toBe('before;1;2;3;'.length)
})

test('without auto_resume, attachments and input are refused until a resume', async () => {
  const { start, attached, refused, pause, resumes, state, ask, path } = await setUp({ auto_resume: false })
  const id = await start({ command: 'cat', pty })
  const one = await attached(id, '?write=true')
  await pause()
  const { status, json } = await refused(id)
  expect([status, json.error.code]).toEqual([409, 'runtime_paused'])
  one.type('nobody hears this')
  await expect.poll(() => one.last('error')).toMatchObject({ about: 'input', code: 'runtime_paused' })
  expect([await state(), resumes(), isOpen(one)]).toEqual(['paused', 0, true])
  await ask('POST', `${path}/resume`)
  one.type('heard')
  await shows(one, 'heard')
})

test.each([true, false])(
  'a resize does not resume the runtime, and applies after the resume (auto_resume: %s)',
  async (auto_resume) => {
    const { start, attached, pause, resumes, state, ask, path } = await setUp({ auto_resume })
    const one = await attached(await start({ command: 'cat', pty }), '?write=true')
    await pause()
    for (let cols = 81; cols <= 600; cols += 1) one.say({ type: 'resize', cols, rows: 30 })
    await sleep(200) // That nothing happens takes a while to see.
    expect([await state(), resumes(), one.last('error'), one.last('resize')]).toEqual([
      'paused',
      0,
      undefined,
      undefined,
    ])
    if (auto_resume) one.type('go on')
    else await ask('POST', `${path}/resume`)
    await expect.poll(() => one.last('resize')).toEqual({ type: 'resize', cols: 600, rows: 30 })
    expect([await state(), resumes()]).toEqual(['running', 1])
  },
)

test('a signal to a command of a paused runtime resumes it, also after a resize', async () => {
  const { start, attached, pause, state } = await setUp()
  const one = await attached(await start({ command: 'cat', pty }), '?write=true')
  await pause()
  one.say({ type: 'resize', cols: 100, rows: 30 })
  one.say({ type: 'signal', signal: 'SIGKILL' })
  await expect.poll(() => one.last('exit')).toMatchObject({ signal: 'SIGKILL' })
  expect(await state()).toBe('running')
})

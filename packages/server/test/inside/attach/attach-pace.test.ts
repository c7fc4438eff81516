import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { AttachPace } from '../../../src/inside/attach/attach-pace.ts'

const signal = new AbortController().signal

/** Waits several times at once. Returns the order in which the waits end. */
function waits(pace: AttachPace, projects: readonly string[]) {
  const ended: string[] = []
  const all = projects.map((name) => pace.wait(name, signal).then(() => ended.push(name)))
  return { ended, all: Promise.all(all) }
}

test('a project can attach a few times at once and then at intervals; others do not wait', async () => {
  const pace = new AttachPace({ burst: 2, everyMs: 60 })
  const begun = performance.now()
  const { ended, all } = waits(pace, ['many', 'many', 'many', 'many', 'one'])
  await nextTurn()
  expect(ended).toEqual(['many', 'many', 'one'])
  await all
  expect(performance.now() - begun).toBeGreaterThanOrEqual(115)
})

test('an attachment with too long a wait is refused, and a disconnected client does not wait', async () => {
  const pace = new AttachPace({ burst: 1, everyMs: 8_000 })
  await pace.wait('p', signal)
  const gone = new AbortController()
  const waiting = pace.wait('p', gone.signal)
  await expect(pace.wait('p', signal)).rejects.toMatchObject({ code: 'rate_limited' })
  gone.abort()
  await expect(waiting).rejects.toThrow()
})

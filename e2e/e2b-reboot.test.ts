import { expect, it } from 'vitest'
import { describeClasses } from './support/classes.ts'
import { service } from './support/facts.ts'
import { cgroupsOf } from './support/host.ts'
import { createRuntime } from './support/test-runtime.ts'

/** Sends a request as clients of E2B do. */
async function e2b(path: string, body: object): Promise<number> {
  const headers = { 'x-api-key': service.key, 'content-type': 'application/json', connection: 'close' }
  const answer = await fetch(`${service.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  await answer.text()
  return answer.status
}

/** A program that appends to two files in turn, so that they differ by one byte at most. */
const writer = 'while :; do printf x >> /srv/first; printf x >> /srv/second; done'

describeClasses('a pause of the files alone', (isolation) => {
  it('keeps the files of one moment, ends all processes, and boots at the next connect', async () => {
    await using runtime = await createRuntime({ isolation, timeout_secs: 600 })
    await runtime.sh(
      'mkdir -p /srv/kept; echo kept > /srv/kept/file; chmod 640 /srv/kept/file; ln -s file /srv/kept/link',
    )
    await runtime.sh(`nohup setsid sh -c '${writer}' > /dev/null 2>&1 &`)
    for (let round = 1; round <= 3; round += 1) {
      await runtime.sh(`echo ${round} > /srv/kept/${round}`)
      expect(await e2b(`/sandboxes/${runtime.id}/pause`, { memory: false })).toBe(204)
      expect(cgroupsOf(runtime.id)).toEqual([])
      expect(await e2b(`/v2/sandboxes/${runtime.id}/connect`, { timeout: 600 })).toBe(201)
      const [first = 0, second = 0] = (await runtime.sh('stat -c %s /srv/first /srv/second')).split('\n').map(Number)
      expect([0, 1]).toContain(first - second)
      expect(second).toBeGreaterThan(0)
      expect((await runtime.sh('pgrep -f [/]srv/second || echo none')).trim()).toBe('none')
    }
    expect((await runtime.sh('stat -c %a /srv/kept/file; cat /srv/kept/link; ls /srv/kept')).split('\n')).toEqual(
      expect.arrayContaining(['640', 'kept', '1', '2', '3']),
    )
  }, 120_000)
})

describeClasses('a connect without memory', (isolation) => {
  it.skipIf(isolation === 'container')(
    'boots what was paused with its memory',
    async () => {
      await using runtime = await createRuntime({ isolation, timeout_secs: 600 })
      await runtime.sh('echo kept > /srv/file; nohup setsid sleep 4242 > /dev/null 2>&1 &')
      await runtime.pause()
      expect(await e2b(`/v2/sandboxes/${runtime.id}/connect`, { timeout: 600, memory: false })).toBe(201)
      expect(await runtime.sh('cat /srv/file')).toContain('kept')
      expect((await runtime.sh('pgrep -x sleep || echo none')).trim()).toBe('none')
    },
    120_000,
  )
})

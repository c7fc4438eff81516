import { expect, test } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'

const path = '/v1/agents/runtime'

test('a page of large runtimes is short, and the next pages have the rest', async () => {
  const { ask, makeRuntime } = await startTestServer()
  const made: string[] = []
  for (let count = 0; count < 6; count += 1) {
    made.unshift(
      await makeRuntime({ env: { A: 'x'.repeat(125_000), B: 'x'.repeat(125_000) }, metadata: { n: `${count % 2}` } }),
    )
    await ask('DELETE', `${path}/${made[0]}`)
  }
  for (const [query, wanted] of [
    ['', made],
    ['&metadata.n=1', made.filter((_, index) => index % 2 === 0)],
  ] as const) {
    const found: string[] = []
    for (let cursor = ''; ; ) {
      const { text, json } = await ask('GET', `${path}?limit=100${query}${cursor}`)
      expect(text.length).toBeLessThan(1.2 * 2 ** 20)
      found.push(...json.data.map(({ runtime_id }: { runtime_id: string }) => runtime_id))
      if (json.next_cursor === null) break
      cursor = `&cursor=${json.next_cursor}`
    }
    expect(found).toEqual(wanted)
  }
})

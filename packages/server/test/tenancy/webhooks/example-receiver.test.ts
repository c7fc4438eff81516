import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { makeWebhookSecret, signedHeaders } from '../../../src/tenancy/webhooks/sign-message.ts'

const example = fileURLToPath(new URL('../../../../../examples/receive-webhooks.ts', import.meta.url))

test('the example accepts signed messages once, and nothing else', async () => {
  const [secret, other] = [makeWebhookSecret(), makeWebhookSecret()]
  const child = spawn(process.execPath, [example, '0'], { env: { ...process.env, WEBHOOK_SECRET: secret } })
  onTestFinished(() => void child.kill())
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await vi.waitFor(() => expect(output).toContain('listening on'), { timeout: 20_000 })
  const url = /http:\S+/.exec(output)?.[0] ?? ''
  const body = JSON.stringify({ type: 'runtime.running', timestamp: 'now', data: { subject: { id: 'rt1' } } })
  const send = async (secrets: string[], at: number) =>
    (await fetch(url, { method: 'POST', body, headers: signedHeaders({ id: 'ev1', at, body }, secrets) })).status
  expect(await send([other], Date.now())).toBe(401)
  expect(await send([secret], Date.now() - 10 * 60_000)).toBe(401)
  expect(await send([other, secret], Date.now())).toBe(204)
  expect(await send([secret], Date.now())).toBe(204)
  expect(output.match(/now runtime\.running rt1\n/g)).toHaveLength(1)
})

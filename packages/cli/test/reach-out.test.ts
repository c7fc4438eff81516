import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const program = fileURLToPath(new URL('../../../examples/quickstart/reach-out.py', import.meta.url))

/**
 * Starts a DNS server that answers every query with a code, and returns its address. Null: it hangs
 * up.
 */
async function answering(code: number | null): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (query) => {
      if (code === null) return socket.end()
      // The header of the query, as an answer: RFC 1035, 4.1.1 and 4.2.2.
      const header = Buffer.from([...query.subarray(2, 4), 0x80, code, 0, 0, 0, 0, 0, 0, 0, 0])
      return socket.end(Buffer.concat([Buffer.from([0, header.length]), header]))
    })
  })
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each([
  ['refuses the name', 5, '/dns', 0],
  ['hangs up', null, '/dns', 0],
  ['gives an answer', 0, '/dns', 1],
  ['is only connected to', 5, '', 1],
] as const)('a server that %s counts as reached or not', async (_, code, kind, reached) => {
  const target = `${await answering(code)}${kind}`
  const child = spawn('python3', [program, target], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [output, [exitCode]] = await Promise.all([text(child.stdout), once(child, 'close')])
  expect(output.trimEnd().split('\n').at(-1)).toBe(`tried 1, reached ${reached}`)
  expect(exitCode).toBe(reached)
})

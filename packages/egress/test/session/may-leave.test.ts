import { expect, onTestFinished, test } from 'vitest'
import { startDnsServer } from '../support/dns-server.ts'
import { startRuntime, until } from '../support/gateway.ts'
import { drain } from '../support/guest.ts'
import { startTcpHost } from '../support/hosts.ts'

/** A runtime with a host that it may reach, and a switch that lets nothing leave. */
async function start() {
  const dns = await startDnsServer({ 'a.example.com': { A: ['127.0.0.1'] } })
  const host = await startTcpHost((socket) => socket.on('error', () => undefined).write('hello'))
  const gate = { isOpen: true }
  const runtime = await startRuntime({
    settings: { resolvers: [dns.address] },
    allow: [{ host: 'a.example.com', ports: [host.port] }],
    mayLeave: () => gate.isOpen,
  })
  onTestFinished(async () => {
    for (const part of [runtime, host, dns]) await part[Symbol.asyncDispose]()
  })
  return { runtime, host, gate, dial: () => runtime.guest.dial('a.example.com', host.port) }
}

test('the first chunk that may not leave resets its connection, and does not arrive', async () => {
  const { host, gate, dial } = await start()
  const stream = await dial()
  stream.write('before')
  await until(() => host.received === 'before', 'the first chunk arrives')
  gate.isOpen = false
  stream.write('after')
  expect((await drain(stream)).reset).toBe(true)
  expect(host.received).toBe('before')
})

test('while nothing may leave, nothing is dialled or asked, and afterwards all is as before', async () => {
  const { runtime, host, gate, dial } = await start()
  gate.isOpen = false
  await expect(dial()).rejects.toThrow()
  expect(host.connections).toBe(0)
  expect(runtime.decisions).toEqual([])
  gate.isOpen = true
  const stream = await dial()
  stream.write('again')
  await until(() => host.received === 'again', 'the chunk arrives')
  stream.close()
})

test('every connection is reset on request, and new ones can be made', async () => {
  const { runtime, host, dial } = await start()
  const streams = [await dial(), await dial()]
  runtime.egress.resetConnections()
  for (const stream of streams) expect((await drain(stream)).reset).toBe(true)
  expect(runtime.egress.openConnections).toBe(0)
  const again = await dial()
  again.write('new')
  await until(() => host.received.endsWith('new'), 'the chunk arrives')
  again.close()
})

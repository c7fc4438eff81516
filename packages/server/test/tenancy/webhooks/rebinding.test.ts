import { expect, onTestFinished, test } from 'vitest'
import { startDnsServer } from '../../../../egress/test/support/dns-server.ts'
import { startCanary, startHttpHost } from '../../../../egress/test/support/hosts.ts'
import { openOutside } from '../../../src/resources/network/open-outside.ts'
import { Receiver } from '../../../src/tenancy/webhooks/post-message.ts'
import { keepingLog } from '../../support/start-test-server.ts'

const name = 'rebind.example.com'

/** The network that stands for the public one: addresses outside all others may be reached. */
const [open, inner] = ['127.0.0.2', '127.0.0.1'] as const

/**
 * Starts an allowed host and a forbidden one on the same port, and a resolver that answers with
 * `addresses`.
 */
async function setUp(addresses: () => readonly string[], redirectsTo: string | null = null) {
  const stack = new AsyncDisposableStack()
  onTestFinished(() => stack.disposeAsync())
  const canary = stack.use(await startCanary({ host: inner }))
  const location = redirectsTo === null ? {} : { location: `http://${redirectsTo}:${canary.port}/` }
  const host = stack.use(
    await startHttpHost((_, response) => response.writeHead(redirectsTo === null ? 204 : 307, location).end(), {
      host: open,
      port: canary.port,
    }),
  )
  const dns = stack.use(await startDnsServer({ [name]: { A: addresses, ttlSecs: 0 } }))
  const egress = { resolvers: [dns.address], allowedNetworks: [`${open}/32`], overrides: [], caFile: null }
  const asked = () => dns.queries.filter((query) => query.startsWith('A ')).length
  /** Sends a message over a new connection, with a resolver whose answers are not cached. */
  const post = async () => {
    const { dialWebhook } = await openOutside({ egress }, keepingLog().log)
    const receiver = new Receiver(dialWebhook, `http://${name}:${canary.port}/in`)
    const outcome = await receiver.post('{}', {}, AbortSignal.timeout(30_000))
    receiver.close()
    return outcome
  }
  return { canary, host, asked, post }
}

const nonPublic = 'the address is not public, and the operator has not allowed its network'

test('a name is resolved once for a connection, which uses that address', async () => {
  let looks = 0
  // A second lookup, for the connection, would lead inside.
  const { canary, host, asked, post } = await setUp(() => [looks++ % 2 === 0 ? open : inner])
  expect(await post()).toMatchObject({ status: 204 })
  expect([asked(), host.connections, canary.connections]).toEqual([1, 1, 0])
})

test('a name that changes to an internal address is not reached by the next attempt', async () => {
  let address: string = open
  const { canary, host, post } = await setUp(() => [address])
  expect(await post()).toMatchObject({ status: 204 })
  address = inner
  expect(await post()).toMatchObject({ status: null, error: nonPublic })
  expect([host.connections, canary.connections]).toEqual([1, 0])
})

test('only allowed addresses of a name are used', async () => {
  const { canary, host, post } = await setUp(() => [inner, open, inner])
  expect(await post()).toMatchObject({ status: 204 })
  expect([host.connections, canary.connections]).toEqual([1, 0])
})

test.each([inner, name])('a redirect to %s is not followed', async (target) => {
  const { canary, host, post } = await setUp(() => [open], target)
  expect(await post()).toMatchObject({ status: 307, error: 'redirects are not followed' })
  expect([host.connections, canary.connections]).toEqual([1, 0])
})

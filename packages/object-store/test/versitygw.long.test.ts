import { describe, expect, test } from 'vitest'
import { openObjectStore } from '../src/index.ts'
import { storeConformance, testPartBytes } from './support/store-conformance.ts'
import { type Gateway, gatewayKeys, hasGateway, startGateway } from './support/versitygw.ts'

const lack = hasGateway() ? '' : ' [skipped: versitygw is not built, see scripts/lib/versitygw.sh]'

const openAt = ({ url }: Gateway, env: Readonly<Record<string, string>> = gatewayKeys) =>
  openObjectStore(url, { env, partBytes: testPartBytes })

describe.skipIf(lack !== '')(`a real S3${lack}`, () => {
  storeConformance('versitygw', async () => {
    const gateway = await startGateway()
    return { store: openAt(gateway), [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() }
  })

  test('refuses another secret key', async () => {
    await using gateway = await startGateway()
    const stranger = openAt(gateway, { ...gatewayKeys, AWS_SECRET_ACCESS_KEY: 'another-secret' })
    await expect(stranger.put('a', Buffer.alloc(1))).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('SignatureDoesNotMatch'),
    })
  })

  test('finishes a write and a read while the service starts again', async () => {
    await using gateway = await startGateway()
    const restart = async () => {
      await gateway.stop()
      await gateway.start()
    }
    const store = openAt(gateway)
    const bytes = Buffer.alloc(4 * testPartBytes, 'abc')
    await store.put('before', bytes)
    const { body } = await store.get('before')
    let read = 0
    for await (const piece of body) {
      if (read === 0) await restart()
      read += piece.length
    }
    expect(read).toBe(bytes.length)
    const writing = store.put('during', bytes)
    await restart()
    await writing
    expect(await store.head('during')).toMatchObject({ sizeBytes: bytes.length })
  })
})

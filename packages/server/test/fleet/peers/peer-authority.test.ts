import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { peerNameOf, signHostCertificate } from '../../../src/fleet/peers/host-certificate.ts'
import { openPeerAuthority, sealedPlace } from '../../../src/fleet/peers/peer-authority.ts'
import { openMasterKeys } from '../../../src/foundation/sealing/master-keys.ts'
import { newStateDir, openTestStore, storedBytes } from '../../support/test-store.ts'

async function start() {
  const stateDir = await newStateDir()
  const store = await openTestStore(stateDir)
  const masterKeys = await openMasterKeys(stateDir, { now: 0 })
  return { stateDir, store, masterKeys, place: sealedPlace(store, masterKeys) }
}

test('hosts that start at once have the same authority, whose key is stored sealed', async () => {
  const { store, place, stateDir } = await start()
  const all = await Promise.all([1, 2, 3].map(() => openPeerAuthority(place)))
  expect(new Set(all.map(({ certificatePem }) => certificatePem)).size).toBe(1)
  const [{ privateKeyPem } = { privateKeyPem: '' }] = all
  expect(await openPeerAuthority(place)).toEqual(all[0])
  await store.close()
  const line = privateKeyPem.split('\n')[1] ?? ''
  expect(line.length).toBeGreaterThan(40)
  expect((await storedBytes(stateDir)).includes(line)).toBe(false)
})

test('the authority certifies names of hosts only, for a day', async () => {
  const { place, store } = await start()
  const authority = await openPeerAuthority(place)
  const { cert } = await signHostCertificate(authority, 'hoaaaaaaaaaaaaaaaaaaaa')
  const certificate = new X509Certificate(cert)
  expect(certificate.subjectAltName).toBe(`DNS:${peerNameOf('hoaaaaaaaaaaaaaaaaaaaa')}`)
  expect(certificate.verify(new X509Certificate(authority.certificatePem).publicKey)).toBe(true)
  const hours = (Date.parse(certificate.validTo) - Date.now()) / 3_600_000
  expect(hours).toBeGreaterThan(23.9)
  expect(hours).toBeLessThanOrEqual(24)
  await store.close()
})

test('a host with other master keys, or a damaged authority, does not start', async () => {
  const { store, place } = await start()
  await openPeerAuthority(place)
  const others = await openMasterKeys(await newStateDir(), { now: 0 })
  await expect(openPeerAuthority(sealedPlace(store, others))).rejects.toThrow('master key')
  const broken = { read: async () => '{}', putFirst: async (text: string) => text }
  await expect(openPeerAuthority(broken)).rejects.toThrow()
  await store.close()
})

import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { type MasterKeys, openMasterKeys, type SealedFor } from '../../../src/foundation/sealing/master-keys.ts'
import { startTestServer } from '../../support/start-test-server.ts'

async function place(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-keys-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

const owner: SealedFor = { purpose: 'secret value', projectId: 'pr1', ownerId: 'se1', version: 1 }
const keysIn = async (dir: string) =>
  JSON.parse(await readFile(join(dir, 'master-keys.json'), 'utf8')).keys as { key: string }[]

test('an encrypted value opens only for its owner', async () => {
  const keys = await openMasterKeys(await place(), { now: 1 })
  const part = fc.string({ unit: 'grapheme', maxLength: 20 })
  const owners = fc.record({
    purpose: part,
    projectId: fc.option(part),
    ownerId: part,
    version: fc.integer({ min: 1, max: 9 }),
  })
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), owners, owners, (text, one, other) => {
      const sealed = keys.seal(text.toWellFormed(), one)
      expect(keys.open(sealed, one)).toBe(text.toWellFormed())
      if (JSON.stringify(other) !== JSON.stringify(one)) expect(() => keys.open(sealed, other)).toThrow()
    }),
  )
})

test.each([
  { purpose: 'provider credential' },
  { projectId: 'pr2' },
  { projectId: null },
  { ownerId: 'se2' },
  { version: 2 },
])('a value cannot replace %j', async (other) => {
  const keys = await openMasterKeys(await place(), { now: 1 })
  const sealed = keys.seal('hunter22', owner)
  expect(() => keys.open(sealed, { ...owner, ...other })).toThrow()
})

test('a changed byte, a cut tag and another key do not decrypt', async () => {
  const [keys, others] = [
    await openMasterKeys(await place(), { now: 1 }),
    await openMasterKeys(await place(), { now: 1 }),
  ]
  const sealed = keys.seal('hunter22', owner)
  const bytes = Buffer.from(sealed.text, 'base64')
  for (let index = 0; index < bytes.length; index += 1) {
    const changed = Buffer.from(bytes)
    changed[index] = (changed[index] ?? 0) ^ 1
    expect(() => keys.open({ ...sealed, text: changed.toString('base64') }, owner)).toThrow()
    expect(() => keys.open({ ...sealed, text: bytes.subarray(0, index).toString('base64') }, owner)).toThrow()
  }
  expect(() => others.open(sealed, owner)).toThrow('not there')
  expect(() => others.open({ ...sealed, masterKeyId: others.currentId }, owner)).toThrow()
})

test('two encryptions of a value have nothing in common', async () => {
  const keys = await openMasterKeys(await place(), { now: 1 })
  expect(keys.seal('hunter22', owner).text).not.toBe(keys.seal('hunter22', owner).text)
})

test('the keys are in a private file and survive a restart', async () => {
  const dir = await place()
  const sealed = (await openMasterKeys(dir, { now: 1 })).seal('hunter22', owner)
  expect((await stat(join(dir, 'master-keys.json'))).mode & 0o777).toBe(0o600)
  expect((await openMasterKeys(dir, { now: 2 })).open(sealed, owner)).toBe('hunter22')
})

test.each(['', 'no json', '{}', '{"keys":[]}', '{"keys":[{"id":"aaaaaaaaaaaa","key":"c2hvcnQ=","created_at":1}]}'])(
  'a file that holds %j is not overwritten and not quoted',
  async (text) => {
    const dir = await place()
    await writeFile(join(dir, 'master-keys.json'), text)
    const failure = await openMasterKeys(dir, { now: 1 }).catch((error: Error) => error)
    expect((failure as Error).message).toContain('restore it from a backup')
    expect((failure as Error).message).not.toContain('c2hvcnQ=')
    expect(await readFile(join(dir, 'master-keys.json'), 'utf8')).toBe(text)
  },
)

/** A server with a secret of each kind, and a runtime that has one. */
async function withSecrets() {
  const server = await startTestServer()
  const { ask, makeRuntime } = server
  await ask('POST', '/v1/agents/identity-provider', {
    json: { name: 'shared', type: 'static', value: 'of-the-provider' },
  })
  await ask('POST', '/v1/agents/secret', { json: { name: 'openai', value: 'of-the-secret' } })
  await ask('POST', '/v1/agents/secret', { json: { name: 'other', provider: 'shared', hosts: ['api.openai.com'] } })
  const runtimeId = await makeRuntime({ network_policy: { include: ['openai'] }, secrets: ['openai', 'other'] })
  return { ...server, runtimeId }
}

test('a rotation encrypts everything again, and running runtimes continue', async () => {
  const server = await withSecrets()
  const before = await keysIn(server.stateDir)
  const rotated = await server.ask('POST', '/v1/agents/secret-key/rotate')
  expect(rotated.json.resealed).toBe(3) // a secret, a provider, the authority of a runtime
  const after = await keysIn(server.stateDir)
  expect([before.length, after.length, after[0]?.key === before[0]?.key]).toEqual([1, 1, false])
  const values = async (gateway: typeof server.gateway) =>
    Promise.all(
      gateway.of(server.runtimeId)?.options.secrets.map(async (secret) => (await secret.value())?.value) ?? [],
    )
  expect(await values(server.gateway)).toEqual(['of-the-secret', 'of-the-provider'])
  const again = await server.restart()
  expect(await values(again.gateway)).toEqual(['of-the-secret', 'of-the-provider'])
  expect(
    (await again.ask('POST', '/v1/agents/secret-key/rotate', { key: (await again.makeKey('secret:write')).key }))
      .status,
  ).toBe(403)
})

test('an interrupted rotation is completed at the next start', async () => {
  const server = await withSecrets()
  await server.server.close()
  const keys: MasterKeys = await openMasterKeys(server.stateDir, { now: 2 })
  await keys.add(3)
  expect(await keysIn(server.stateDir)).toHaveLength(2)
  const again = await server.restart()
  expect(await keysIn(server.stateDir)).toHaveLength(1)
  const [secret] = again.gateway.of(server.runtimeId)?.options.secrets ?? []
  expect(await secret?.value()).toEqual({ value: 'of-the-secret', version: 1 })
})

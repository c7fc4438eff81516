import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseConfig } from '../../../src/foundation/config/config.ts'
import { openInstallation } from '../../../src/foundation/config/installation.ts'
import { startTestServer } from '../../support/start-test-server.ts'
import { testDatabase } from '../../support/test-store.ts'

// A start refuses a damaged file of its state directory if something would be lost. It replaces
// other damaged files.

/** A server with a secret, stopped, and one of its files. */
async function stoppedServer(name: string) {
  const server = await startTestServer()
  await server.ask('POST', '/v1/agents/secret', { json: { name: 'openai', value: 'of-the-secret' } })
  await server.close()
  const path = join(server.stateDir, name)
  return { server, path, whole: await readFile(path, 'utf8') }
}

/** The ways in which a file is damaged. */
const damages: readonly (readonly [string, (whole: string) => string])[] = [
  ['is empty', () => ''],
  ['is cut off', (whole) => whole.slice(0, whole.length / 2)],
  ['has another format', () => 'no json\n'],
  ['has a key that is too short', (whole) => whole.replace(/(?<=[A-Za-z0-9+/_]{30})[A-Za-z0-9+/_]{8}/, '')],
]

test.each(damages)('master keys whose file %s are refused with the remedy and not replaced', async (_, damage) => {
  const { server, path, whole } = await stoppedServer('master-keys.json')
  const damaged = damage(whole)
  expect(damaged).not.toBe(whole)
  await writeFile(path, damaged)
  await expect(server.restart()).rejects.toThrow(/^master-keys\.json .* restore it from a backup$/)
  expect(await readFile(path, 'utf8')).toBe(damaged)
  await writeFile(path, whole)
  expect((await (await server.restart()).ask('GET', '/v1/agents/secret')).status).toBe(200)
})

test('missing master keys are created only if nothing is encrypted or the operator asks for it', async () => {
  const { server, path } = await stoppedServer('master-keys.json')
  await rm(path)
  await expect(server.restart()).rejects.toThrow(/^master-keys\.json is not .* Restore it from a backup\..*HOLT_ADOPT/)
  await expect(readFile(path)).rejects.toThrow('ENOENT')
  const env = { HOLT_STATE_DIR: server.stateDir, HOLT_PORT: '0', HOLT_POOL_MAX: '0', HOLT_ADOPT_STORE: '1' }
  await server.restart({ config: { ...parseConfig(env), ...(await testDatabase(server.stateDir)) } })
  expect(JSON.parse(await readFile(path, 'utf8')).keys).toHaveLength(1)
})

test.each(damages)('a port secret whose file %s is replaced, and the log says so', async (_, damage) => {
  const { server, path, whole } = await stoppedServer('port-secret')
  const damaged = damage(whole)
  expect(damaged).not.toBe(whole)
  await writeFile(path, damaged)
  const next = await server.restart()
  expect(await readFile(path, 'utf8')).toMatch(/^[0-9a-f]{64}\n$/)
  expect(next.logged.map(({ message }) => message)).toContainEqual(expect.stringMatching(/^port-secret is damaged/))
})

test.each(damages)('credentials whose file %s are replaced, and the earlier key still works', async (_, damage) => {
  const { server, path, whole } = await stoppedServer('credentials.json')
  const damaged = damage(whole)
  expect(damaged).not.toBe(whole)
  await writeFile(path, damaged)
  const next = await server.restart()
  const { url, key } = JSON.parse(await readFile(path, 'utf8'))
  expect({ url, key }).toEqual({ url: next.server.url, key: next.server.adminKey })
  for (const each of [key, server.server.adminKey])
    expect((await next.ask('GET', '/v1/agents/secret', { key: each })).json.data).toHaveLength(1)
})

test.each(['', '{"id":"abc', 'no json', '{"id":"abc"}'])(
  'an installation whose file has %j is refused',
  async (text) => {
    const stateDir = await mkdtemp(join(tmpdir(), 'holt-damaged-'))
    onTestFinished(() => rm(stateDir, { recursive: true, force: true }))
    const path = join(stateDir, 'installation.json')
    await writeFile(path, text)
    await expect(openInstallation(stateDir)).rejects.toThrow(/^installation\.json .* restore it from a backup/)
    expect(await readFile(path, 'utf8')).toBe(text)
  },
)

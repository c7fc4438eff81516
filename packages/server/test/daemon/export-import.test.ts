import { chmod, copyFile, lstat, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { exportTo, importFrom } from '../../src/daemon/export-import.ts'
import { wordsOf } from '../../src/daemon/import-words.ts'
import type { ServerConfig } from '../../src/foundation/config/config.ts'
import { openStore } from '../../src/foundation/store/open-store.ts'
import { startTestServer } from '../support/start-test-server.ts'
import { onPostgres } from '../support/test-store.ts'

const nowhere = () => Promise.reject(new Error('nothing is outside'))
const nothing = { dialTls: nowhere, registryNetwork: { connect: nowhere } }

async function newDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-transfer-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

const configOf = (stateDir: string) => ({ stateDir, databaseUrl: null }) as ServerConfig

test('an export is a new file with mode 0600, and replaces nothing', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-export-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  await (await openStore({ type: 'sqlite', path: join(dir, 'holt.db') })).close()
  const [file, theirs] = [join(dir, 'dump.jsonl'), join(dir, 'theirs')]
  await writeFile(theirs, 'kept')
  await symlink(theirs, `${file}.part`)
  await writeFile(file, 'before')
  await chmod(file, 0o666)
  const config = { stateDir: dir, databaseUrl: null } as ServerConfig
  await expect(exportTo(config, file)).rejects.toThrow('exists already')
  expect(await readFile(file, 'utf8')).toBe('before')
  await exportTo(config, file, { force: true })
  expect((await lstat(file)).mode & 0o777).toBe(0o600)
  expect(await readFile(theirs, 'utf8')).toBe('kept')
  expect((await readdir(dir)).filter((name) => name.startsWith('dump')).toSorted()).toEqual([
    'dump.jsonl',
    'dump.jsonl.part',
  ])
  await expect(
    exportTo({ stateDir: join(dir, 'none'), databaseUrl: null } as ServerConfig, file, { force: true }),
  ).rejects.toThrow('no store')
  expect((await readdir(dir)).filter((name) => name.startsWith('dump'))).toHaveLength(2)
})

/** Returns an ended server with a webhook, a paused runtime and a snapshot, and its dump. */
async function dumped() {
  const config = { egress: { allowedNetworks: ['127.0.0.0/8'], overrides: [], resolvers: [], caFile: null } } as never
  const server = await startTestServer({ config })
  const { json } = await server.ask('POST', '/v1/agents/webhook', { json: { url: 'https://hooks.example.com/' } })
  const ids = [await server.makeRuntime(), await server.makeRuntime()]
  expect((await server.ask('POST', `/v1/agents/runtime/${ids[0]}/snapshot`, { json: {} })).status).toBe(201)
  expect((await server.ask('POST', `/v1/agents/runtime/${ids[1]}/pause`)).status).toBe(200)
  await server.close()
  const file = join(await newDir(), 'dump.jsonl')
  await exportTo(configOf(server.stateDir), file)
  return { server, file, webhookId: json.webhook_id as string }
}

async function newStateDir({ stateDir }: { stateDir: string }): Promise<string> {
  const into = await newDir()
  await copyFile(join(stateDir, 'master-keys.json'), join(into, 'master-keys.json'))
  return into
}

test.skipIf(onPostgres)('an import of rows alone lists the missing files, starts, and sends no webhooks', async () => {
  const { server, file, webhookId } = await dumped()
  const stateDir = await newStateDir(server)
  const result = await importFrom(configOf(stateDir), file)
  const missing = { snapshots: 1, templates: 0, runtimes: 1 }
  expect(result).toMatchObject({ missing, disabledWebhooks: 1 })
  const words = wordsOf(result, { stateDir })
  expect(words).toContain(`missing in ${stateDir}: the files of 1 snapshot, 1 paused runtime\n`)
  expect(words).toContain('disabled: 1 webhook')
  const dialled: string[] = []
  const dialWebhook = ({ host }: { host: string }) => {
    dialled.push(host)
    return Promise.reject(new Error('nothing is outside'))
  }
  const copy = await startTestServer(
    { outside: { ...nothing, gateway: server.gateway, dialWebhook } as never },
    stateDir,
  )
  const { json } = await copy.ask('GET', `/v1/agents/webhook/${webhookId}`)
  expect(json).toMatchObject({ state: 'disabled', state_reason: { code: 'imported' } })
  // The runtime that ran is lost, which is an event that the webhook was for.
  expect((await copy.ask('GET', '/v1/agents/event?type=runtime.failed')).json.data).toHaveLength(1)
  const keys = (await copy.ask('GET', '/v1/agents/key')).json.data.map(({ name }: { name: string }) => name)
  expect(keys.toSorted()).toEqual(['admin of this machine', 'former admin of this machine'])
  expect(dialled).toEqual([])
  await copy.ask('PATCH', `/v1/agents/webhook/${webhookId}`, { json: { state: 'active' } })
  await expect.poll(() => dialled.length, { timeout: 30_000 }).toBeGreaterThan(0)
})

test.skipIf(onPostgres)('webhooks continue after an import that asks for them', async () => {
  const { server, file } = await dumped()
  const stateDir = await newStateDir(server)
  expect(await importFrom(configOf(stateDir), file, { keepWebhooks: true })).toMatchObject({ disabledWebhooks: 0 })
  using database = new DatabaseSync(join(stateDir, 'holt.db'))
  expect(database.prepare('SELECT state FROM webhooks').all()).toEqual([{ state: 'active' }])
})

test.skipIf(onPostgres)('a refused import leaves nothing, and removes the directory that it made', async () => {
  const { server, file } = await dumped()
  const dir = await newDir()
  // Without the master keys.
  await expect(importFrom(configOf(join(dir, 'new')), file)).rejects.toThrow('copy master-keys.json')
  expect(await readdir(dir)).toEqual([])
  const stateDir = await newStateDir(server)
  await writeFile(file, (await readFile(file)).subarray(0, -20))
  await expect(importFrom(configOf(stateDir), file)).rejects.toThrow(/^the dump ends early, in the middle of line \d+/)
  expect(await readdir(stateDir)).toEqual(['master-keys.json'])
})

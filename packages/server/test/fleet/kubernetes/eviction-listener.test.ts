import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { makeAuthority, signLeaf } from '@holt/egress'
import { expect, onTestFinished, test, vi } from 'vitest'
import { listenForEvictions } from '../../../src/fleet/kubernetes/eviction-listener.ts'
import { startFakeKubernetes } from '../../support/fake-kubernetes.ts'
import { hostRow, startHost } from '../../support/fleet.ts'
import { keepingLog } from '../../support/start-test-server.ts'
import { openTestStore } from '../../support/test-store.ts'

const name = 'fleet-evictions.holt.svc'
const times = { backdatedMs: 60_000, validMs: 3_600_000 }

/** Writes a new certificate for the Service of evictions. Returns its authority. */
async function writeCertificate(dir: string): Promise<string> {
  const authority = await makeAuthority({ name: 'cluster', ...times, onlyBelow: null })
  const leaf = await signLeaf(authority, { ...times, names: [name] })
  await writeFile(join(dir, 'tls.crt'), leaf.certificatePem)
  await writeFile(join(dir, 'tls.key'), leaf.privateKeyPem)
  return authority.certificatePem
}

async function startListening() {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const host = await startHost(store)
  const cluster = await startFakeKubernetes()
  cluster.set('one', { unschedulable: true })
  // It has a runtime, so that a drain is not over at once.
  await host.server.makeRuntime()
  const want = (wanted: 'ready' | 'cordoned') => store.db.updateTable('hosts').set({ node: 'one', wanted }).execute()
  await want('cordoned')
  const dir = await mkdtemp(join(tmpdir(), 'holt-evictions-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const ca = await writeCertificate(dir)
  const { log } = keepingLog()
  const listener = await listenForEvictions({
    store,
    now: Date.now,
    api: cluster.api,
    log,
    dir,
    namespace: 'holt',
    port: 0,
  })
  onTestFinished(() => listener.close())
  const wanted = async () => (await hostRow(store, host)).wanted
  return { listener, cluster, dir, ca, want, wanted }
}

/** Sends a body as the API server does. Returns the status and the JSON of the answer. */
async function post({ port }: { readonly port: number }, ca: string, body: string) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; json: unknown }>()
  const sent = request({ host: '127.0.0.1', port, servername: name, ca, method: 'POST', path: '/', agent: false })
  sent.once('error', reject).once('response', (response) => {
    const read = (all: string) => ({ status: response.statusCode, json: all === '' ? null : JSON.parse(all) })
    text(response).then(read).then(resolve, reject)
  })
  sent.end(body)
  return promise
}

function review(facts: object = {}): string {
  const given = { uid: 'u1', name: 'holt-guard-one', namespace: 'holt', ...facts }
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: given })
}

const allowed = {
  status: 200,
  json: { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid: 'u1', allowed: true } },
}

test('an attempt to evict the guard of a cordoned Node drains its host', async () => {
  const { listener, ca, wanted } = await startListening()
  expect(await post(listener, ca, review())).toEqual(allowed)
  expect(await wanted()).toBe('draining')
})

test.each([
  ['of another pod', { name: 'web-1' }],
  ['in another namespace', { namespace: 'default' }],
  ['that is only tried', { dryRun: true }],
])('an eviction %s drains no host', async (_, facts) => {
  const { listener, ca, wanted } = await startListening()
  expect(await post(listener, ca, review(facts))).toEqual(allowed)
  expect(await wanted()).toBe('cordoned')
})

test('an invented eviction drains no host whose Node or which itself is not cordoned', async () => {
  const { listener, cluster, ca, want, wanted } = await startListening()
  cluster.set('one', {})
  expect(await post(listener, ca, review())).toEqual(allowed)
  expect(await wanted()).toBe('cordoned')
  cluster.set('one', { unschedulable: true })
  await want('ready')
  expect(await post(listener, ca, review())).toEqual(allowed)
  expect(await wanted()).toBe('ready')
})

test('a body that is no review is refused, and the next review is answered', async () => {
  const { listener, cluster, ca, wanted } = await startListening()
  for (const body of ['', 'no json', '{}', JSON.stringify({ kind: 'AdmissionReview', request: {} })])
    expect((await post(listener, ca, body)).status).toBe(400)
  expect((await post(listener, ca, 'x'.repeat(200_000)).catch(() => ({ status: 400 }))).status).toBe(400)
  cluster.refuse = 403
  expect((await post(listener, ca, review())).status).toBe(500)
  cluster.refuse = null
  expect(await post(listener, ca, review())).toEqual(allowed)
  await vi.waitFor(async () => expect(await wanted()).toBe('draining'))
})

test('a certificate that is replaced is used by the next connection', async () => {
  const { listener, dir, ca } = await startListening()
  const later = await writeCertificate(dir)
  await expect(post(listener, ca, review())).rejects.toThrow(/certificate/)
  expect(await post(listener, later, review())).toEqual(allowed)
})

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { KubernetesApi } from '../../src/fleet/kubernetes/kubernetes-api.ts'

interface FakeNode {
  unschedulable?: boolean
  taints?: { key: string; effect: string }[]
}

/** An API server in this process, with Nodes, pods and budgets. */
export interface FakeKubernetes {
  readonly api: KubernetesApi
  /** The names of the objects that were made, such as `pods/holt-guard-one`. */
  readonly objects: Map<string, { metadata: Record<string, unknown>; spec: Record<string, unknown> }>
  /** The tokens that requests had. */
  readonly tokens: Set<string>
  /** The watches that are open. */
  readonly watches: Set<ServerResponse>
  /** Makes or changes a Node, and tells those who watch it. */
  set(name: string, node: FakeNode): void
  deleteNode(name: string): void
  /** The outcomes of reviews, by tokens. Other tokens are not known. */
  readonly reviews: Map<string, object>
  /** The status of every answer, instead of the real one; null: the real one. */
  refuse: number | null
}

/** Starts an API server over HTTP, with credentials as in a pod. */
export async function startFakeKubernetes(): Promise<FakeKubernetes> {
  const nodes = new Map<string, object>()
  let version = 1
  const fake: Omit<FakeKubernetes, 'api'> = {
    objects: new Map(),
    tokens: new Set(),
    watches: new Set(),
    reviews: new Map(),
    refuse: null,
    set: (name, node) => {
      version += 1
      const metadata = { name, uid: `uid-${name}`, resourceVersion: String(version) }
      const object = { metadata: { ...metadata, labels: { 'topology.kubernetes.io/zone': 'north' } }, spec: node }
      nodes.set(name, object)
      for (const watch of fake.watches) watch.write(`${JSON.stringify({ type: 'MODIFIED', object })}\n`)
    },
    deleteNode: (name) => void nodes.delete(name),
  }
  const server = createServer((request, response) => {
    fake.tokens.add(request.headers.authorization ?? '')
    void answer(request, response, { fake, nodes })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const dir = await mkdtemp(join(tmpdir(), 'holt-pod-'))
  await writeFile(join(dir, 'token'), 'token-of-the-pod\n')
  await writeFile(join(dir, 'namespace'), 'holt')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await rm(dir, { recursive: true })
  })
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return Object.assign(fake, { api: new KubernetesApi({ url, dir }) })
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { fake, nodes }: { fake: Omit<FakeKubernetes, 'api'>; nodes: ReadonlyMap<string, object> },
): Promise<void> {
  const body = await text(request)
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://api')
  const send = (status: number, json: object) => response.writeHead(status).end(JSON.stringify(json))
  if (fake.refuse !== null) return void send(fake.refuse, { message: 'refused' })
  if (searchParams.has('watch')) {
    response.writeHead(200).flushHeaders()
    fake.watches.add(response)
    response.once('close', () => fake.watches.delete(response))
    return
  }
  if (pathname === '/apis/authentication.k8s.io/v1/tokenreviews') {
    const { token } = JSON.parse(body).spec
    return void send(201, { status: fake.reviews.get(token) ?? { authenticated: false } })
  }
  const node = /^\/api\/v1\/nodes\/(.+)$/.exec(pathname)?.[1]
  if (node !== undefined) return void send(nodes.has(node) ? 200 : 404, nodes.get(node) ?? {})
  const [, kind = '', name = ''] = /\/namespaces\/holt\/(pods|poddisruptionbudgets)(?:\/(.+))?$/.exec(pathname) ?? []
  if (request.method === 'POST') {
    const object = JSON.parse(body)
    const place = `${kind}/${object.metadata.name}`
    if (fake.objects.has(place)) return void send(409, {})
    fake.objects.set(place, object)
    return void send(201, object)
  }
  send(fake.objects.delete(`${kind}/${name}`) ? 200 : 404, {})
}

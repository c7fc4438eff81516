import type { KubernetesApi } from './kubernetes-api.ts'
import { type NodeFacts, nodeFactsOf } from './node-facts.ts'

/** Reads a Node. Returns null if there is none. Throws if the API server does not say. */
export async function findNode(api: KubernetesApi, name: string): Promise<NodeFacts | null> {
  const { status, json } = await api.ask('GET', `/api/v1/nodes/${encodeURIComponent(name)}`)
  if (status === 404) return null
  if (status !== 200) throw new Error(`the API server answers ${status} for the Node ${name}`)
  return nodeFactsOf(json)
}

/** Reads a Node. Throws if there is none, or if the API server does not say. */
export async function readNode(api: KubernetesApi, name: string): Promise<NodeFacts> {
  const node = await findNode(api, name)
  if (node === null) throw new Error(`there is no Node ${name}`)
  return node
}

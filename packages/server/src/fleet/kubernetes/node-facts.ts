import { z } from 'zod'

/** The taint by which an administrator says that the power of a Node is off. */
const outOfService = 'node.kubernetes.io/out-of-service'

const NodeObject = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    deletionTimestamp: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
  }),
  spec: z
    .object({
      unschedulable: z.boolean().optional(),
      taints: z.array(z.object({ key: z.string() })).optional(),
    })
    .optional(),
})

/** The facts of a Node that a host follows. */
export interface NodeFacts {
  readonly name: string
  readonly uid: string
  /** The position for a watch. */
  readonly version: string
  /** True after `kubectl cordon` and at the start of `kubectl drain`. */
  readonly isCordoned: boolean
  /** True if an administrator says that the machine is off. */
  readonly isOut: boolean
  readonly zone: string | null
}

/** Returns the facts of a Node as the API server sends it. Throws for anything else. */
export function nodeFactsOf(json: unknown): NodeFacts {
  const { metadata, spec } = NodeObject.parse(json)
  return {
    name: metadata.name,
    uid: metadata.uid,
    version: metadata.resourceVersion,
    isCordoned: spec?.unschedulable === true,
    isOut: spec?.taints?.some(({ key }) => key === outOfService) === true,
    zone: metadata.labels?.['topology.kubernetes.io/zone'] ?? null,
  }
}

const WatchEvent = z.object({ type: z.string(), object: z.unknown() })

/** Returns the Node of an event; null: it was deleted, or the watch has to begin again. */
export function nodeOfEvent(json: unknown): NodeFacts | null {
  const { type, object } = WatchEvent.parse(json)
  return type === 'ADDED' || type === 'MODIFIED' ? nodeFactsOf(object) : null
}

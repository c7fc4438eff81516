import { z } from 'zod'

/** The place of a host in a cluster of Kubernetes. */
export interface KubernetesConfig {
  /** The name of the Node that this host runs on. */
  readonly node: string
  /** True if a cordoned Node is drained: its runtimes move to other hosts. */
  readonly drainOnCordon: boolean
  /** The container image of guard pods; null: this host makes none. */
  readonly guardImage: string | null
  /** The directory with the certificate of the webhook for evictions; null: there is none. */
  readonly evictionsDir: string | null
}

const flag = z.enum(['0', '1'], 'must be 0 or 1').default('0')

const nodeName = z
  .string()
  .regex(/^(?=.{1,253}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/, 'must be the name of a Node of Kubernetes')

export const kubernetesSettings = {
  HOLT_KUBERNETES: flag.describe(
    '`1` makes this host follow its Node of Kubernetes. It needs `HOLT_FLEET` and `HOLT_KUBERNETES_NODE`. The Helm chart sets it. See [kubernetes.md](kubernetes.md).',
  ),
  HOLT_KUBERNETES_NODE: nodeName
    .optional()
    .describe('The name of the Node that this host runs on. The Helm chart sets it.'),
  HOLT_KUBERNETES_DRAIN_ON_CORDON: flag.describe(
    '`1` drains a host whose Node is cordoned. With `0` such a host is cordoned, and keeps its runtimes.',
  ),
  HOLT_KUBERNETES_GUARD_IMAGE: z
    .string()
    .max(512)
    .regex(/^[\w.:@/-]+$/, 'must be an image reference')
    .optional()
    .describe(
      'The container image of guard pods, which keep a Node from being drained while its host has runtimes. It needs `sleep`. Without it there are no guard pods.',
    ),
  HOLT_KUBERNETES_EVICTIONS: z
    .string()
    .max(4096)
    .regex(/^\/[^\0]*$/, 'must be an absolute path')
    .optional()
    .describe(
      'A directory with `tls.crt` and `tls.key`. With it, port 4660 is a webhook for evictions of guards: an attempt to evict one drains the host. The Helm chart sets it.',
    ),
}

/** Returns the settings of Kubernetes that do not fit together, each with a message. */
export function wrongKubernetes(
  given: Readonly<Record<string, string | undefined>>,
): readonly (readonly [string, string])[] {
  if (given.HOLT_KUBERNETES !== '1') return []
  const wrong: [string, string][] = []
  if (given.HOLT_FLEET !== '1') wrong.push(['HOLT_KUBERNETES', 'only a host of a fleet follows a Node: set HOLT_FLEET'])
  if (given.HOLT_KUBERNETES_NODE === undefined)
    wrong.push(['HOLT_KUBERNETES', 'the name of the Node is needed: set HOLT_KUBERNETES_NODE'])
  // The kubelet sets it in every pod.
  if (given.KUBERNETES_SERVICE_HOST === undefined)
    wrong.push(['HOLT_KUBERNETES', 'this process is in no pod of a cluster: KUBERNETES_SERVICE_HOST is not there'])
  return wrong
}

/** Returns the place of this host in a cluster; null if it is in none. */
export function kubernetesOf(data: z.output<z.ZodObject<typeof kubernetesSettings>>): KubernetesConfig | null {
  if (data.HOLT_KUBERNETES !== '1' || data.HOLT_KUBERNETES_NODE === undefined) return null
  return {
    node: data.HOLT_KUBERNETES_NODE,
    drainOnCordon: data.HOLT_KUBERNETES_DRAIN_ON_CORDON === '1',
    guardImage: data.HOLT_KUBERNETES_GUARD_IMAGE ?? null,
    evictionsDir: data.HOLT_KUBERNETES_EVICTIONS ?? null,
  }
}

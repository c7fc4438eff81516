/** The place and the image of a guard. */
export interface GuardSpec {
  readonly namespace: string
  readonly node: { readonly name: string; readonly uid: string }
  readonly image: string
}

/** The label by which a budget finds the guard of its Node. */
const guardLabel = 'holt.dev/guard'

/** The beginning of the names of guards. */
const guardPrefix = 'holt-guard-'

/** Returns the name of the guard of a Node, and of its budget. */
export function guardName({ node }: Pick<GuardSpec, 'node'>): string {
  return `${guardPrefix}${node.name}`
}

/** Returns the Node of a guard, by the name of the pod; null: it is no guard. */
export function nodeOfGuard(pod: string): string | null {
  return pod.startsWith(guardPrefix) ? pod.slice(guardPrefix.length) : null
}

/**
 * Returns the guard pod of a Node. The Node is its controller, so `kubectl drain` evicts it without
 * `--force`, and it goes with the Node.
 */
export function guardPod(spec: GuardSpec): object {
  const { node, image } = spec
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: guardName(spec),
      namespace: spec.namespace,
      labels: labelsOf(spec),
      annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' },
      ownerReferences: [ownerOf(node)],
    },
    spec: {
      nodeName: node.name,
      restartPolicy: 'Always',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 0,
      priorityClassName: 'system-node-critical',
      tolerations: [{ operator: 'Exists' }],
      securityContext: { runAsNonRoot: true, runAsUser: 65534, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'guard',
          image,
          imagePullPolicy: 'IfNotPresent',
          command: ['sleep', 'infinity'],
          resources: { requests: { cpu: '1m', memory: '2Mi' }, limits: { memory: '16Mi' } },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
    },
  }
}

/** Returns the budget that refuses to evict the guard. */
export function guardBudget(spec: GuardSpec): object {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: {
      name: guardName(spec),
      namespace: spec.namespace,
      labels: labelsOf(spec),
      ownerReferences: [ownerOf(spec.node)],
    },
    spec: { minAvailable: 1, selector: { matchLabels: { [guardLabel]: spec.node.name } } },
  }
}

function labelsOf({ node }: GuardSpec): Readonly<Record<string, string>> {
  return { 'app.kubernetes.io/name': 'holt', 'app.kubernetes.io/component': 'guard', [guardLabel]: node.name }
}

function ownerOf({ name, uid }: GuardSpec['node']): object {
  return { apiVersion: 'v1', kind: 'Node', name, uid, controller: true }
}

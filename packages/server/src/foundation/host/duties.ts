/**
 * The duties of a fleet: work that one host does for all. Two hosts may believe for a moment that
 * they hold one, so each duty is written so that this does no harm.
 *
 * * `judge`: says which hosts are lost, and ends their runtimes.
 * * `cleaner`: removes old rows.
 * * `base_templates`: makes the base templates.
 * * `resealing`: finishes a rotation of the master key.
 * * `artifacts`: removes what no row needs from the object store.
 * * `webhooks`: sends the messages of webhooks.
 * * `nodes`: follows the Nodes of workers, in a cluster of Kubernetes.
 */
export const dutyNames = ['judge', 'cleaner', 'base_templates', 'resealing', 'artifacts', 'webhooks', 'nodes'] as const

export type DutyName = (typeof dutyNames)[number]

/** The duties as this host holds them. */
export interface Duties {
  /** Returns true if this host holds a duty. */
  holds(name: DutyName): boolean
}

/** The duties of a machine that is in no fleet: it has all of them. */
export const allDuties: Duties = { holds: () => true }

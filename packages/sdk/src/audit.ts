import type { AuditEntry } from '@holt/protocol'
import { type Paginated, paginate } from './transport/pages.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/** The filters of the audit log. Several filters mean AND. */
export interface AuditFilter {
  /** The id of a project, or `all`; needs the scope `operator`. Default: the project of the key. */
  readonly project?: string
  readonly kind?: AuditEntry['kind']
  readonly key_id?: string
  /** The name of a route: `createRuntime`. */
  readonly route?: string
  /** The id or the name of the changed thing, or of the runtime in which the action took place. */
  readonly subject?: string
  /** An RFC 3339 timestamp. */
  readonly since?: string
  readonly until?: string
  /** Entries per page, 1 to 100. */
  readonly limit?: number
}

/**
 * The audit log: actors, actions, keys and addresses. It can be read and not changed. Needs the
 * scope `admin`.
 */
export class Audit {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Lists entries, newest first. */
  list(filter: AuditFilter = {}, options: CallOptions = {}): Paginated<AuditEntry> {
    return paginate((cursor) => this.#transport.call('listAudit', { ...options, query: { ...filter, cursor } }))
  }
}

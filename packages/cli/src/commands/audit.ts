import { auditKinds } from '@holt/protocol'
import type { AuditEntry } from '@holt/sdk'
import { type Command, Option } from 'commander'
import { dropUndefined } from '../arguments/create-options.ts'
import { findKeyId } from '../arguments/find-key.ts'
import { sinceText } from '../arguments/log-options.ts'
import { momentOf } from '../arguments/moment.ts'
import { firstOf, limitOf, limitOption } from '../arguments/newest.ts'
import { connect } from '../connection/connect.ts'
import { printList } from '../output/print-list.ts'
import { act } from '../verb/verb.ts'

const examples = `
Examples:
  holt audit                                  the newest 50 entries, newest first
  holt audit --key ci --since 2h              recent acts with one key
  holt audit --subject mine                   acts on a runtime, or inside it
  holt audit --project all --kind auth_failed calls without a valid key (scope operator)`

interface AuditOptions {
  readonly kind?: AuditEntry['kind']
  readonly key?: string
  readonly subject?: string
  readonly route?: string
  readonly since?: string
  readonly until?: string
  readonly project?: string
  readonly limit?: number
  readonly quiet?: boolean
  readonly json?: boolean
}

/** Adds `holt audit`, which shows the audit log. */
export function addAudit(program: Command): void {
  const kind = new Option('--kind <kind>', 'only changes, acts inside runtimes, or failed authentications')
  const command = program
    .command('audit')
    .description('show the audit log: who did what, with which key, from where (needs the scope admin)')
    .addOption(kind.choices([...auditKinds]))
    .option('--key <key>', 'only acts with this key: its id, also after it is revoked, or its name')
    .option('--subject <thing>', 'only acts on the object with this id or name, or inside it')
    .option('--route <name>', 'only calls of this route, such as createRuntime')
    .option('--since <when>', sinceText)
    .option('--until <when>', 'only entries before then')
    .option('--project <id>', 'another project by its name or id, or all (scope operator)')
    .addOption(limitOption())
    .option('-q, --quiet', 'only the ids')
    .option('--json', 'print the entries as JSON')
    .addHelpText('after', examples)
  act(command, showAudit)
}

async function showAudit(options: AuditOptions): Promise<number> {
  const { kind, key, subject, route, project, quiet, json } = options
  const limit = limitOf(options.limit)
  const since = momentOf('--since', options.since, 'ago')
  const until = momentOf('--until', options.until, 'ago')
  const keyId = key === undefined ? undefined : await findKeyId(connect(), key, project === 'all' ? undefined : project)
  const filter = dropUndefined({ kind, key_id: keyId, subject, route, project, since, until })
  const entries = await firstOf(limit, (page) => connect().audit.list({ ...filter, ...page }))
  return printList(
    entries,
    { quiet, json },
    {
      id: ({ audit_id }) => audit_id,
      none: 'Nothing was done.',
      columns: [
        ['AT', ({ at }) => at],
        ['WHO', whoOf],
        ['KEY', (entry) => entry.key?.key_id ?? ''],
        ['FROM', ({ address }) => address],
        ['WHAT', (entry) => entry.route ?? entry.kind],
        ['SUBJECT', ({ subject_id }) => subject_id ?? ''],
        ['STATUS', ({ status }) => (status === null ? 'none' : String(status))],
        ['TIMES', ({ count }) => String(count)],
      ],
    },
  )
}

/**
 * Returns the actor of an entry. An operator of another project is shown as such, without the key.
 */
function whoOf({ key, kind }: AuditEntry): string {
  return key?.name ?? (kind === 'auth_failed' ? '' : 'an operator')
}

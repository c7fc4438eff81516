import type { Policy } from '@holt/sdk'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { Answer } from '../parts/answer.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Facts } from '../parts/facts.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { useNow } from '../parts/spans.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { useHoltQuery } from '../session/use-holt-query.ts'
import { EditPolicy } from './edit-policy.tsx'
import { PolicyUsers } from './policy-users.tsx'

const route = getRouteApi('/policies/$policyId')

/** The page of one network policy: its rules, what the gateway sees of each, and its runtimes. */
export function PolicyPage() {
  const { policyId } = route.useParams()
  const { session } = useSession()
  const [act, setAct] = useState<'edit' | 'delete' | null>(null)
  const policy = useHoltQuery({
    key: ['policies', policyId],
    read: (holt, signal) => holt.policies.get(policyId, { signal }),
  })
  const close = () => setAct(null)
  return (
    <Answer query={policy} what="the policy">
      {(shown) => (
        <>
          <div className="title">
            <h1>{shown.name}</h1>
            {mayUse(session, 'policy:write') ? (
              <div className="actions">
                <Button className="button primary" onPress={() => setAct('edit')}>
                  Edit
                </Button>
                <Button className="button danger" onPress={() => setAct('delete')}>
                  Delete…
                </Button>
              </div>
            ) : null}
          </div>
          <PolicyFacts policy={shown} />
          <PolicyRules policy={shown} />
          {mayUse(session, 'runtime:read') ? <PolicyUsers policyId={shown.policy_id} /> : null}
          {act === 'edit' ? <EditPolicy policy={shown} onClose={close} /> : null}
          {act === 'delete' ? <DeletePolicy policy={shown} onClose={close} /> : null}
        </>
      )}
    </Answer>
  )
}

function PolicyFacts({ policy }: { readonly policy: Policy }) {
  const now = useNow()
  const { policy_id, include, allow_all_hosts, deny, revision, updated_at } = policy
  return (
    <Facts
      entries={[
        ['Id', <code key="id">{policy_id}</code>],
        ['Presets', include.length === 0 ? 'none' : include.join(', ')],
        ['Every public host', allow_all_hosts ? 'a rule may allow it' : 'no rule may allow it'],
        ['Denied networks', deny.length === 0 ? 'none' : deny.join(', ')],
        ['Revision', revision],
        ['Changed', <Moment key="at" at={updated_at} now={now} />],
      ]}
    />
  )
}

function PolicyRules({ policy: { inspection } }: { readonly policy: Policy }) {
  return (
    <section className="section" aria-label="Rules">
      <h2>Rules</h2>
      {inspection.length === 0 ? (
        <EmptyState title="It allows nothing">
          <p>Runtimes with this policy reach no host. Edit it, or in a shell:</p>
          <pre>holt policy set NAME --include npm --allow api.example.com</pre>
        </EmptyState>
      ) : (
        <PlainTable
          label="Rules"
          rows={inspection.map((rule, at) => ({ ...rule, at }))}
          idOf={({ at }) => String(at)}
          columns={[
            { title: 'Host', cell: ({ host }) => host },
            {
              title: 'Ports',
              cell: ({ ports, other_ports }) => [...ports, ...(other_ports ? ['all others'] : [])].join(', '),
            },
            { title: 'Rule', cell: ({ rule }) => rule },
            { title: 'The gateway reads', cell: ({ inspection: read }) => readings[read] },
            { title: 'It cannot see', cell: ({ unseen }) => unseen },
          ]}
        />
      )}
    </section>
  )
}

const readings = {
  none: 'nothing',
  sni: 'the server name',
  host: 'each plain request',
  terminated: 'each request',
} as const satisfies Readonly<Record<Policy['inspection'][number]['inspection'], string>>

function DeletePolicy({ policy, onClose }: { readonly policy: Policy; readonly onClose: () => void }) {
  const navigate = useNavigate()
  const deleting = useHoltMutation({
    run: (holt) => holt.policies.delete(policy.policy_id),
    changes: [['policies']],
    onSuccess: () => void navigate({ to: '/policies' }),
  })
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={`Delete the policy ${policy.name}?`}
      action="Delete"
      isPending={deleting.isPending}
      onConfirm={() => deleting.mutate()}
    >
      <p>The service refuses it while a runtime has the policy. This cannot be undone.</p>
      {deleting.error === null ? null : <ErrorNotice error={deleting.error} />}
    </ConfirmDialog>
  )
}

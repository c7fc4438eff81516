import type { Policy } from '@holt/sdk'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { CheckedField } from '../parts/checked-field.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { ListPage } from '../parts/list-page.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { useNow } from '../parts/spans.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltList } from '../session/use-holt-list.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { bodyOfPolicy, emptyPolicy } from './policy-form.ts'
import { PolicyFormFields } from './policy-form-fields.tsx'

/** The page of network policies. */
export function PoliciesPage() {
  const { session } = useSession()
  const now = useNow()
  const [isCreating, setCreating] = useState(false)
  const policies = useHoltList({ key: ['policies'], list: (holt, options) => holt.policies.list(options) })
  const mayWrite = mayUse(session, 'policy:write')
  return (
    <>
      <ListPage
        title="Network policies"
        what="policies"
        query={policies}
        action={
          mayWrite ? (
            <Button className="button primary" onPress={() => setCreating(true)}>
              Store a policy
            </Button>
          ) : null
        }
        textsOf={({ name, policy_id, include, allow }) => [
          name,
          policy_id,
          ...include,
          ...allow.map(({ host }) => host),
        ]}
        empty={<NoPolicies mayWrite={mayWrite} />}
      >
        {(rows) => (
          <DataTable
            label="Network policies"
            rows={rows}
            columns={columnsAt(now)}
            idOf={({ policy_id }) => policy_id}
            nameOf={({ name }) => name}
          />
        )}
      </ListPage>
      {isCreating ? <CreatePolicy onClose={() => setCreating(false)} /> : null}
    </>
  )
}

function NoPolicies({ mayWrite }: { readonly mayWrite: boolean }) {
  return (
    <EmptyState title="No network policies yet">
      <p>A runtime reaches nothing, until a policy allows it a host. A change of a policy acts at once.</p>
      <p>{mayWrite ? 'Store one here, or in a shell:' : 'Store one in a shell:'}</p>
      <pre>holt policy create build --include npm --include github</pre>
    </EmptyState>
  )
}

function CreatePolicy({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const [form, setForm] = useState(emptyPolicy)
  const creating = useHoltMutation({
    run: (holt) => holt.policies.create({ name: name.trim(), ...bodyOfPolicy(form) }),
    changes: [['policies']],
    onSuccess: ({ policy_id }) => void navigate({ to: '/policies/$policyId', params: { policyId: policy_id } }),
  })
  return (
    <FormDialog
      title="Store a network policy"
      action="Store"
      isWide
      isPending={creating.isPending}
      error={creating.error}
      isOpen
      onOpenChange={onClose}
      onSubmit={() => creating.mutate()}
    >
      <CheckedField label="Name" value={name} set={setName} isRequired error={creating.error} pointer="/name" />
      <PolicyFormFields form={form} set={setForm} error={creating.error} />
    </FormDialog>
  )
}

function columnsAt(now: number): readonly Column<Policy>[] {
  return [
    {
      title: 'Policy',
      cell: ({ policy_id, name }) => (
        <Link to="/policies/$policyId" params={{ policyId: policy_id }}>
          {name}
        </Link>
      ),
    },
    { title: 'Presets', width: 180, cell: ({ include }) => include.join(', ') },
    {
      title: 'Allowed hosts',
      width: 300,
      cell: ({ allow }) => allow.map(({ host }) => host).join(', '),
    },
    { title: 'Denied networks', width: 140, cell: ({ deny }) => (deny.length === 0 ? '' : deny.length) },
    { title: 'Revision', width: 90, cell: ({ revision }) => revision },
    { title: 'Changed', width: 110, cell: ({ updated_at }) => <Moment at={updated_at} now={now} /> },
  ]
}

import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Answer } from '../parts/answer.tsx'
import { spanText, useNow } from '../parts/spans.ts'
import { useRuntime } from './runtime-route.ts'

/** The first tab of a runtime: its facts, and what happens to it when. */
export function OverviewTab() {
  const runtime = useRuntime()
  const now = useNow()
  return (
    <Answer query={runtime} what="the runtime">
      {({ runtime_id, template, isolation, created_at, expires_at, parent_id, state_reason }) => (
        <dl className="facts">
          <Fact title="Id">
            <code>{runtime_id}</code>
          </Fact>
          {state_reason === null ? null : <Fact title="Reason of the state">{state_reason.message}</Fact>}
          <Fact title="Template">{template.name}</Fact>
          <Fact title="Isolation">{isolation}</Fact>
          <Fact title="Age">{spanText(now - Date.parse(created_at))}</Fact>
          <Fact title="Expires">{expires_at === null ? 'never' : `in ${spanText(Date.parse(expires_at) - now)}`}</Fact>
          {parent_id === null ? null : (
            <Fact title="Forked from">
              <Link to="/runtimes/$runtimeId" params={{ runtimeId: parent_id }}>
                {parent_id}
              </Link>
            </Fact>
          )}
        </dl>
      )}
    </Answer>
  )
}

function Fact({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  )
}

import type { Runtime } from '@holt/sdk'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { mibText } from '../parts/amount-text.ts'
import { spanText, useNow } from '../parts/spans.ts'

/** The facts of a runtime, in the order in which people ask for them. */
export function RuntimeFacts({ runtime }: { readonly runtime: Runtime }) {
  const { runtime_id, state_reason, template, isolation, cloud, region, cpu, memory_mib, disk_mib } = runtime
  const { parent_id, snapshot_id } = runtime
  return (
    <dl className="facts" aria-label="Facts">
      {state_reason === null ? null : (
        <Fact title="Reason of the state">
          {state_reason.message} <code>{state_reason.code}</code>
        </Fact>
      )}
      <Fact title="Id">
        <code>{runtime_id}</code>
      </Fact>
      <Fact title="Template">{template.name}</Fact>
      {snapshot_id === null ? null : (
        <Fact title="Made from the snapshot">
          <code>{snapshot_id}</code>
        </Fact>
      )}
      {parent_id === null ? null : (
        <Fact title="Forked from">
          <Link to="/runtimes/$runtimeId" params={{ runtimeId: parent_id }}>
            {parent_id}
          </Link>
        </Fact>
      )}
      <Fact title="Isolation">
        {isolation === 'gvisor' ? 'gvisor: for untrusted code' : 'container: for code that you trust'}
      </Fact>
      <Fact title="Size">
        {cpu} vCPU, {mibText(memory_mib)} of memory, {mibText(disk_mib)} of disk
      </Fact>
      <Fact title="Place">
        {cloud}, {region}
      </Fact>
      <Fact title="Network policy">{policyText(runtime)}</Fact>
      <Fact title="Public ports">{runtime.ports.public.join(', ') || 'none'}</Fact>
      <Times runtime={runtime} />
    </dl>
  )
}

/** The facts about time: what happened when, and what will. */
function Times({ runtime }: { readonly runtime: Runtime }) {
  const now = useNow()
  const { state, created_at, started_at, paused_at, updated_at, expires_at, timeout_secs } = runtime
  const { on_timeout, idle_timeout_secs, auto_resume } = runtime
  const ago = (at: string) => (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {spanText(now - Date.parse(at))} ago
    </time>
  )
  const then = on_timeout === 'pause' ? 'it is paused' : 'it ends, with its files'
  return (
    <>
      <Fact title="Created">{ago(created_at)}</Fact>
      {started_at === null ? null : <Fact title="First ran">{ago(started_at)}</Fact>}
      {paused_at === null ? null : <Fact title="Last paused">{ago(paused_at)}</Fact>}
      <Fact title="Last changed">{ago(updated_at)}</Fact>
      <Fact title="Deadline">
        {expires_at !== null
          ? `in ${spanText(Date.parse(expires_at) - now)}: ${then}`
          : timeout_secs === null
            ? 'none'
            : state === 'paused'
              ? `${spanText(timeout_secs * 1000)} after its resume: ${then}`
              : 'passed'}
      </Fact>
      <Fact title="Without use">
        {idle_timeout_secs === null ? 'it stays as it is' : `it is paused after ${spanText(idle_timeout_secs * 1000)}`}
      </Fact>
      <Fact title="While paused">{auto_resume ? 'a use resumes it' : 'a use is refused until it is resumed'}</Fact>
    </>
  )
}

function policyText({ network_policy }: Runtime): string {
  if (network_policy === null) return 'none: it reaches nothing'
  return network_policy.type === 'inline' ? 'its own' : (network_policy.name ?? 'one that was deleted')
}

function Fact({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  )
}

import type { Runtime } from '@holt/sdk'
import { Link } from '@tanstack/react-router'
import { mibText } from '../parts/amount-text.ts'
import { type FactEntry, Facts } from '../parts/facts.tsx'
import { Foreign } from '../parts/foreign.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { spanText, useNow } from '../parts/spans.ts'

/** Shows the facts of a runtime, in the order in which people ask for them. */
export function RuntimeFacts({ runtime }: { readonly runtime: Runtime }) {
  const now = useNow()
  return <Facts label="Facts" entries={[...originOf(runtime), ...timesOf(runtime, now)]} />
}

/** Returns the facts about state, origin, size and access. */
function originOf(runtime: Runtime): readonly FactEntry[] {
  const { runtime_id, state_reason: reason, template, isolation, cloud, region } = runtime
  const { cpu, memory_mib, disk_mib, parent_id, snapshot_id } = runtime
  return [
    [
      'Reason of the state',
      reason === null ? null : (
        <span key="reason">
          <Foreign>{reason.message}</Foreign> <code>{reason.code}</code>
        </span>
      ),
    ],
    ['Id', <code key="id">{runtime_id}</code>],
    ['Template', template.name],
    ['Made from the snapshot', snapshot_id === null ? null : <code key="snapshot">{snapshot_id}</code>],
    [
      'Forked from',
      parent_id === null ? null : (
        <Link key="parent" to="/runtimes/$runtimeId" params={{ runtimeId: parent_id }}>
          {parent_id}
        </Link>
      ),
    ],
    ['Isolation', isolation === 'gvisor' ? 'gvisor: for untrusted code' : 'container: for code that you trust'],
    ['Size', `${cpu} vCPU, ${mibText(memory_mib)} of memory, ${mibText(disk_mib)} of disk`],
    ['Place', `${cloud}, ${region}`],
    ['Apart from runtimes with the label', runtime.spread],
    ['Network policy', policyText(runtime)],
    ['Public ports', runtime.ports.public.join(', ') || 'none'],
  ]
}

/** Returns the facts about past and future times. */
function timesOf(runtime: Runtime, now: number): readonly FactEntry[] {
  const { created_at, started_at, paused_at, updated_at, idle_timeout_secs: idleSecs, auto_resume } = runtime
  const moment = (at: string | null) => (at === null ? null : <Moment key="at" at={at} now={now} />)
  return [
    ['Created', moment(created_at)],
    ['First ran', moment(started_at)],
    ['Last paused', moment(paused_at)],
    ['Last changed', moment(updated_at)],
    ['Deadline', deadlineText(runtime, now)],
    ['Without use', idleSecs === null ? 'it stays as it is' : `it is paused after ${spanText(idleSecs * 1000)}`],
    ['While paused', auto_resume ? 'a use resumes it' : 'a use is refused until it is resumed'],
  ]
}

function deadlineText({ state, expires_at, timeout_secs, on_timeout }: Runtime, now: number): string {
  const then = on_timeout === 'pause' ? 'it is paused' : 'it ends, with its files'
  if (expires_at !== null) return `in ${spanText(Date.parse(expires_at) - now)}: ${then}`
  if (timeout_secs === null) return 'none'
  return state === 'paused' ? `${spanText(timeout_secs * 1000)} after its resume: ${then}` : 'passed'
}

function policyText({ network_policy }: Runtime): string {
  if (network_policy === null) return 'none: it reaches nothing'
  return network_policy.type === 'inline' ? 'its own' : (network_policy.name ?? 'one that was deleted')
}

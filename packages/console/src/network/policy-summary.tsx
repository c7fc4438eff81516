import type { RuntimeNetwork } from '@holt/sdk'
import { Answer } from '../parts/answer.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { useRuntimeNetwork } from '../runtime/use-runtime-network.ts'

const inspections: Readonly<Record<string, string>> = {
  none: 'nothing',
  sni: 'the name of the server',
  host: 'each request',
  terminated: 'each request: TLS ends at the gateway',
}

/** Shows the hosts that a runtime may reach, and the part of the traffic that the gateway sees. */
export function PolicySummary({ runtimeId }: { readonly runtimeId: string }) {
  const network = useRuntimeNetwork(runtimeId)
  return (
    <section className="section" aria-label="What it may reach">
      <h2>What it may reach</h2>
      <Answer query={network} what="the policy">
        {({ policy, network_policy }) =>
          policy === null ? (
            <p>Nothing: it has no network policy.</p>
          ) : (
            <>
              <p>{policyText(network_policy)}</p>
              <Rules policy={policy} />
            </>
          )
        }
      </Answer>
    </section>
  )
}

function Rules({ policy: { inspection, deny } }: { readonly policy: NonNullable<RuntimeNetwork['policy']> }) {
  return (
    <>
      {inspection.length === 0 ? <p>Nothing: its policy has no rules.</p> : null}
      {inspection.length === 0 ? null : (
        <details open={inspection.length <= 5}>
          <summary>
            {inspection.length} {inspection.length === 1 ? 'rule' : 'rules'}
          </summary>
          <PlainTable
            label="Rules"
            rows={inspection.map((rule, at) => ({ ...rule, at }))}
            idOf={({ at }) => String(at)}
            columns={[
              { title: 'Host', cell: ({ host }) => <span className="wrapped">{host}</span> },
              {
                title: 'Ports',
                cell: ({ ports, other_ports }) => [...ports, ...(other_ports ? ['any other'] : [])].join(', '),
              },
              { title: 'Rule', cell: ({ rule }) => <span className="wrapped">{rule}</span> },
              { title: 'The gateway reads', cell: ({ inspection }) => inspections[inspection] ?? inspection },
              { title: 'Secrets', cell: ({ secrets }) => secrets.join(', ') || '–' },
            ]}
          />
        </details>
      )}
      {deny.length === 0 ? null : <p>Never: {deny.join(', ')}.</p>}
    </>
  )
}

function policyText(policy: RuntimeNetwork['network_policy']): string {
  if (policy?.type !== 'stored') return 'A policy of its own.'
  return `The stored policy ${policy.name ?? policy.policy_id}. Other runtimes may have it as well.`
}

import type { Runtime } from '@holt/sdk'
import { Answer } from '../parts/answer.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { useRuntimeNetwork } from './use-runtime-network.ts'

/** The secrets of a runtime: names, hosts and variables. The API does not give their values. */
export function AttachedSecrets({ runtime }: { readonly runtime: Runtime }) {
  const network = useRuntimeNetwork(runtime.runtime_id)
  return (
    <section className="section" aria-label="Secrets">
      <h2>Secrets</h2>
      <p className="muted">Secrets are attached when a runtime is created. A later one needs a new runtime.</p>
      <Answer query={network} what="the secrets">
        {({ secrets }) =>
          secrets.length === 0 ? (
            <p className="muted">It has none.</p>
          ) : (
            <PlainTable
              label="Secrets"
              rows={secrets}
              idOf={({ name }) => name}
              columns={[
                { title: 'Name', cell: ({ name }) => name },
                { title: 'Variable', cell: ({ env_name }) => <code>{env_name}</code> },
                { title: 'Sent to', cell: ({ hosts }) => hosts.join(', ') || 'no host' },
                { title: 'As', cell: ({ header }) => header ?? '–' },
                {
                  title: 'The value',
                  cell: ({ inside, available }) =>
                    !available
                      ? 'was deleted: requests with its placeholder are refused'
                      : inside
                        ? 'is inside the runtime, and its code can read it'
                        : 'stays outside: the gateway adds it to requests',
                },
              ]}
            />
          )
        }
      </Answer>
    </section>
  )
}

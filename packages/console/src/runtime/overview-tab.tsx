import type { Runtime } from '@holt/sdk'
import { Answer } from '../parts/answer.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { AttachedSecrets } from './attached-secrets.tsx'
import { OneRuntimeActions } from './one-runtime-actions.tsx'
import { PairsTable } from './pairs-table.tsx'
import { RuntimeChildren } from './runtime-children.tsx'
import { RuntimeFacts } from './runtime-facts.tsx'
import { useRuntime } from './runtime-route.ts'
import '../styles/runtime-tabs.css'

/** The first tab of a runtime: its facts, its deadline, and the actions on it. */
export function OverviewTab() {
  const runtime = useRuntime()
  return (
    <Answer query={runtime} what="the runtime">
      {(data) => <Overview runtime={data} />}
    </Answer>
  )
}

function Overview({ runtime }: { readonly runtime: Runtime }) {
  const { session } = useSession()
  return (
    <>
      {mayUse(session, 'runtime:write') ? <OneRuntimeActions runtime={runtime} /> : null}
      <RuntimeFacts runtime={runtime} />
      <RuntimeChildren runtime={runtime} />
      <AttachedSecrets runtime={runtime} />
      <section className="section" aria-label="Metadata">
        <h2>Metadata</h2>
        <PairsTable label="Metadata" pairs={runtime.metadata} name="Key" none="It has no labels." />
      </section>
      <section className="section" aria-label="Environment">
        <h2>Environment</h2>
        <PairsTable
          label="Environment"
          pairs={runtime.env}
          name="Variable"
          none="Its commands have only the variables of the template."
        />
      </section>
    </>
  )
}

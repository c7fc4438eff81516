import type { Holt, Scope } from '@holt/sdk'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltQuery } from '../session/use-holt-query.ts'

/** The names that the fields of a create offer. A key without a scope gets none of that kind. */
export interface CreateNames {
  readonly templates: readonly string[] | undefined
  readonly snapshots: readonly string[] | undefined
  readonly policies: readonly string[] | undefined
  readonly secrets: readonly string[] | undefined
}

/** Returns the names of things that a create can name. */
export function useCreateNames(): CreateNames {
  return {
    templates: useNames('templates', 'template:read', (holt, signal) => holt.templates.list({ signal }).all()),
    snapshots: useNames('snapshots', 'runtime:read', (holt, signal) =>
      holt.snapshots.list({ limit: 100 }, { signal }).all(),
    ),
    policies: useNames('policies', 'policy:read', (holt, signal) => holt.policies.list({ signal }).all()),
    secrets: useNames('secrets', 'secret:read', (holt, signal) => holt.secrets.list({ signal }).all()),
  }
}

function useNames(
  kind: string,
  scope: Scope,
  list: (holt: Holt, signal: AbortSignal) => Promise<readonly { readonly name: string | null }[]>,
): readonly string[] | undefined {
  const { session } = useSession()
  const names = useHoltQuery({
    key: ['create', kind],
    read: async (holt, signal) => [...new Set((await list(holt, signal)).flatMap(({ name }) => name ?? []))],
    refetchInterval: false,
    enabled: mayUse(session, scope),
  })
  return names.data
}

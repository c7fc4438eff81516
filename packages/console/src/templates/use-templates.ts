import type { RuntimeState } from '@holt/sdk'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltQuery } from '../session/use-holt-query.ts'

/** The states of a runtime that still has its template's image. */
const liveStates: readonly RuntimeState[] = ['starting', 'running', 'pausing', 'paused', 'resuming', 'terminating']

/** The interval between two counts of the runtimes of all templates, in milliseconds. */
const countMs = 20_000

/** Returns the templates of the project and of Holt, newest first. */
export function useTemplates() {
  return useHoltQuery({
    key: ['templates', 'list'],
    read: (holt, signal) => holt.templates.list({ limit: 100, signal }).all(),
  })
}

/** Returns the template that a text names: an id, a name or `name:tag`. */
export function useTemplate(reference: string) {
  return useHoltQuery({
    key: ['templates', 'one', reference],
    read: (holt, signal) => holt.templates.get(reference, { signal }),
  })
}

/** A runtime that uses a template. */
export interface Use {
  readonly id: string
  readonly name: string | null
}

/** Returns the runtimes that use each template, by its id. A key needs `runtime:read` for it. */
export function useUses() {
  const { session } = useSession()
  return useHoltQuery({
    key: ['templates', 'uses'],
    read: async (holt, signal): Promise<ReadonlyMap<string, readonly Use[]>> => {
      const uses = new Map<string, Use[]>()
      for await (const runtime of holt.runtimes.list({ state: liveStates, limit: 100 }, { signal })) {
        const { runtime_id: id, name, template } = runtime
        const known = uses.get(template.template_id)
        if (known === undefined) uses.set(template.template_id, [{ id, name }])
        else known.push({ id, name })
      }
      return uses
    },
    refetchInterval: countMs,
    enabled: mayUse(session, 'runtime:read'),
  })
}

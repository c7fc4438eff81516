import { useQuery } from '@tanstack/react-query'
import { useSession } from '../session/session-context.ts'
import { refreshMs, useHoltQuery } from '../session/use-holt-query.ts'
import { hasEnded } from './build-text.ts'

/** The interval between two reads of a running build, in milliseconds. */
const runningMs = 1_000

/** The maximum number of builds of a list. The service keeps a thousand of a project. */
const mostBuilds = 200

/** The builds of a list, newest first. Without a template, the builds of all templates. */
export function useBuilds(templateId: string | null) {
  return useHoltQuery({
    key: ['builds', templateId],
    read: async (holt, signal) => {
      const filter = templateId === null ? {} : { template_id: templateId }
      const builds = []
      for await (const build of holt.builds.list({ ...filter, limit: 100 }, { signal })) {
        builds.push(build.toJSON())
        if (builds.length === mostBuilds) break
      }
      return builds
    },
  })
}

/** Returns a build, which is read again until it has ended. */
export function useBuild(buildId: string) {
  const { holt, session } = useSession()
  return useQuery({
    queryKey: [session.key_id, 'build', buildId],
    queryFn: ({ signal }) => holt.builds.get(buildId, { signal }),
    refetchInterval: ({ state: { data, error } }) => {
      if (data !== undefined && hasEnded(data.status)) return false
      return error === null ? runningMs : refreshMs
    },
  })
}

import { ErrorNotice } from '../parts/error-notice.tsx'
import { useHoltQuery } from '../session/use-holt-query.ts'

interface PlanProps {
  readonly runtimeId: string
  /** The number of forks; null while the form has none. */
  readonly count: number | null
}

/** Tells how many forks of a runtime the service would create now, and why not more. */
export function ForkPlan({ runtimeId, count }: PlanProps) {
  const { data, error } = useHoltQuery({
    key: ['runtime', runtimeId, 'fork', count],
    read: async (holt, signal) =>
      (await holt.runtimes.get(runtimeId, { signal })).dryRunFork({ count: count ?? 1 }, { signal }),
    enabled: count !== null,
  })
  const plan = data === undefined ? '' : `${data.children} of ${data.count} would be created now.`
  const problems = data?.problems.map(({ message, hint }) => `${message} ${hint}`) ?? []
  return (
    <>
      <p role="status">{[plan, ...problems].join(' ')}</p>
      {error === null ? null : <ErrorNotice error={error} />}
    </>
  )
}

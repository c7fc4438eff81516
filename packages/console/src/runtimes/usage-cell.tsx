import { createContext, useCallback, useContext, useMemo, useSyncExternalStore } from 'react'
import { type RuntimeUse, shownSecs, type UsageStore } from './usage-store.ts'

/** The context of the use of runtimes. Without a value, nothing measures. */
export const UsageContext = createContext<UsageStore | null>(null)

/** The size of a line of use, in pixels. */
const [width, height] = [64, 20]

/** The present use of a runtime as a number, and its last minutes as a line. */
export function UsageCell({ id, kind }: { readonly id: string; readonly kind: 'cpu' | 'memory' }) {
  const store = useContext(UsageContext)
  const subscribe = useCallback((listener: () => void) => store?.subscribe(id, listener) ?? (() => {}), [store, id])
  const use = useSyncExternalStore(subscribe, () => store?.get(id) ?? null)
  const line = useMemo(() => (use === null ? '' : lineOf(use, kind)), [use, kind])
  const last = use?.points.at(-1)
  if (use === null || last === undefined) return null
  return (
    <>
      <svg
        className={`spark ${kind}`}
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
        aria-hidden="true"
      >
        <polyline points={line} />
      </svg>
      {kind === 'cpu' ? cpuText(last.cpu) : `${Math.round(last.memoryBytes / 2 ** 20)} MiB`}
    </>
  )
}

function cpuText(cpu: number | null): string {
  return cpu === null ? '' : cpu.toFixed(2)
}

/**
 * Returns the points of an SVG line: the last minutes from left to right, and the limit at the top.
 */
function lineOf({ points, cpuLimit, memoryLimitBytes }: RuntimeUse, kind: 'cpu' | 'memory'): string {
  const since = Date.now() - shownSecs * 1000
  return points
    .flatMap(({ at, cpu, memoryBytes }) => {
      const share = kind === 'cpu' ? (cpu === null ? null : cpu / cpuLimit) : memoryBytes / memoryLimitBytes
      if (share === null || at < since) return []
      const x = ((at - since) / shownSecs / 1000) * width
      // Half a line is left, so that the least and the most use are seen whole.
      const y = height - 1 - Math.min(1, share) * (height - 2)
      return `${x.toFixed(1)},${y.toFixed(1)}`
    })
    .join(' ')
}

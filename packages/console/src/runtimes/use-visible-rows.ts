import { type RefObject, useLayoutEffect, useRef, useState } from 'react'

/** The height of a row in pixels, as in `runtimes.css`. */
export const rowHeight = 40

/** The rows above and below those in sight that are in the document as well. */
const spareRows = 10

/** The rows by which the part in the document moves, so that few scrolls render. */
const stepRows = 5

interface VisibleRows {
  /** The element that scrolls. */
  readonly ref: RefObject<HTMLDivElement | null>
  /** The first row in the document, and the one after the last. */
  readonly first: number
  readonly end: number
  readonly onScroll: () => void
  /** Scrolls until a row is in sight. */
  readonly show: (index: number) => void
  /** The number of whole rows in sight. */
  readonly fitting: () => number
}

/** Returns which of many rows are in sight. All rows have the same height. */
export function useVisibleRows(count: number): VisibleRows {
  const ref = useRef<HTMLDivElement>(null)
  const [{ top, height }, setSight] = useState({ top: 0, height: 800 })
  const look = () => {
    const element = ref.current
    if (element === null) return
    const next = { top: element.scrollTop - (element.scrollTop % (stepRows * rowHeight)), height: element.clientHeight }
    setSight((before) => (before.top === next.top && before.height === next.height ? before : next))
  }
  useLayoutEffect(() => {
    const element = ref.current
    if (element === null) return
    const observer = new ResizeObserver(look)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const first = Math.max(0, Math.min(count, Math.floor(top / rowHeight) - spareRows))
  return {
    ref,
    first,
    end: Math.min(count, first + Math.ceil(height / rowHeight) + 2 * spareRows + stepRows),
    onScroll: look,
    show: (index) => {
      const element = ref.current
      if (element === null) return
      // The head of the table covers the first row's place.
      const [above, below] = [index * rowHeight, (index + 2) * rowHeight - element.clientHeight]
      if (element.scrollTop > above) element.scrollTop = above
      else if (element.scrollTop < below) element.scrollTop = below
    },
    fitting: () => Math.max(1, Math.floor((ref.current?.clientHeight ?? 0) / rowHeight) - 1),
  }
}

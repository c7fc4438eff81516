import { type Holt, HoltApiError } from '@holt/sdk'
import { useEffect, useRef, useState } from 'react'
import { useSession } from './session-context.ts'

/** The time for which items are collected before the page shows them, in milliseconds. */
const collectMs = 100

/** The time before a stream that broke for good is opened again, in milliseconds. */
const againMs = 3_000

/** The place from which a stream of items is read, and the signal that ends it. */
interface FollowFrom {
  readonly cursor: number
  readonly signal: AbortSignal
}

interface LiveStream<Item> {
  /** A text that names the stream. Another one begins anew. */
  readonly key: string
  readonly open: (holt: Holt, from: FollowFrom) => AsyncIterable<Item>
  /** The maximum number of items that the page keeps: the newest. */
  readonly most: number
}

/** The items of a stream so far. */
export interface LiveItems<Item> {
  readonly items: readonly Item[]
  /** True after the last item of the stream. */
  readonly hasEnded: boolean
  readonly error: unknown
}

const nothing = { items: [], hasEnded: false, error: null }

/**
 * Follows a stream of items while the page is shown. A stream that breaks continues after the last
 * item. A refusal of the service ends it, and is its error.
 */
export function useLiveItems<Item extends { readonly cursor: number }>({
  key,
  open,
  most,
}: LiveStream<Item>): LiveItems<Item> {
  const { holt } = useSession()
  const [live, setLive] = useState<LiveItems<Item>>(nothing)
  const opened = useRef(open)
  opened.current = open
  useEffect(() => {
    const left = new AbortController()
    const { signal } = left
    let collected: Item[] = []
    let waiting: ReturnType<typeof setTimeout> | undefined
    const show = (more: Partial<LiveItems<Item>> = {}) => {
      clearTimeout(waiting)
      waiting = undefined
      const news = collected
      collected = []
      if (signal.aborted) return
      setLive(({ items, ...before }) => ({ ...before, items: [...items, ...news].slice(-most), ...more }))
    }
    const follow = async () => {
      for (let cursor = 0; !signal.aborted; ) {
        try {
          for await (const item of opened.current(holt, { cursor, signal })) {
            cursor = item.cursor
            collected.push(item)
            waiting ??= setTimeout(() => show({ error: null }), collectMs)
          }
          return show({ hasEnded: true, error: null })
        } catch (error) {
          if (signal.aborted) return
          show({ error })
          if (error instanceof HoltApiError && error.httpStatus < 500) return
        }
        await new Promise((resolve) => setTimeout(resolve, againMs))
      }
    }
    setLive(nothing)
    void follow()
    return () => {
      clearTimeout(waiting)
      left.abort()
    }
  }, [holt, key, most])
  return live
}

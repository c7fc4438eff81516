import type { BuildLogItem } from '@holt/sdk'
import { plainLine } from '../parts/shown-text.ts'

/** A line of the log as the page shows it. */
export interface LogLine {
  /** The position of the line in the log. */
  readonly cursor: number
  /** The step that wrote it, from 1; null if the build itself did. */
  readonly step: number | null
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  /** The time in milliseconds since 1970. */
  readonly at: number
  readonly text: string
}

/** The log of a build, as far as it was read. */
export interface BuildLog {
  readonly lines: readonly LogLine[]
  /** The number of lines that the service, or this page, no longer keeps. */
  readonly lost: number
  /** True if the build has ended and all of its lines were read. */
  readonly isWhole: boolean
  /** Why it cannot be read; null if it can. */
  readonly error: unknown
}

/** A log of which nothing was read yet. */
export const unreadLog: BuildLog = { lines: [], lost: 0, isWhole: false, error: null }

/**
 * The maximum number of lines and characters of a log that the page keeps. The service keeps as
 * many.
 */
const kept = { lines: 20_000, characters: 16 * 2 ** 20 }

/** The interval between two pictures of a log that is written, in milliseconds. */
const showMs = 150

/** Shows the items of a log as they arrive, a few times a second. Resolves at its end. */
export async function followLog(
  items: AsyncIterable<BuildLogItem>,
  { show, signal }: { readonly show: (log: BuildLog) => void; readonly signal: AbortSignal },
): Promise<void> {
  const lines: LogLine[] = []
  let characters = 0
  let lost = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  const showNow = (more: Partial<BuildLog> = {}) => {
    clearTimeout(timer)
    timer = undefined
    if (!signal.aborted) show({ ...unreadLog, lines: [...lines], lost, ...more })
  }
  try {
    for await (const item of items) {
      if (item.type === 'gap') lost += item.lost
      if (item.type === 'log') {
        const { cursor, step, level, at, message } = item
        const text = plainLine(message)
        lines.push({ cursor, step, level, at: Date.parse(at), text })
        characters += text.length
        for (; lines.length > kept.lines || characters > kept.characters; lost += 1)
          characters -= lines.shift()?.text.length ?? 0
      }
      timer ??= setTimeout(showNow, showMs)
    }
    showNow({ isWhole: true })
  } catch (error) {
    showNow({ error })
  } finally {
    clearTimeout(timer)
  }
}

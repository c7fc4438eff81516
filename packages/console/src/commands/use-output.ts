import type { Command, Holt } from '@holt/sdk'
import { useEffect, useState } from 'react'
import { useSession } from '../session/session-context.ts'
import { OutputLog, type OutputPiece } from './output-log.ts'

/** The output of a command as the page shows it. */
export interface OutputView {
  readonly pieces: readonly OutputPiece[]
  /** True if earlier output is not shown. */
  readonly isCut: boolean
  /** True while more output may come. */
  readonly follows: boolean
  readonly error: unknown
}

/** The interval in milliseconds at which new output is shown. */
const showMs = 100

/** The bytes of output that are read before the page has time for other things. */
const turnBytes = 256 * 1024

/** The bytes at the end of the output with which a page begins. */
const firstBytes = 512 * 1024

const nothing: OutputView = { pieces: [], isCut: false, follows: true, error: null }

interface Place {
  readonly runtimeId: string
  readonly commandId: string
}

/** Follows the output of a command, from its last part to its end. */
export function useOutput({ runtimeId, commandId }: Place): OutputView {
  const { holt } = useSession()
  const [view, setView] = useState(nothing)
  useEffect(() => {
    const ended = new AbortController()
    setView(nothing)
    void followOutput(holt, { runtimeId, commandId }, { signal: ended.signal, show: setView })
    return () => ended.abort()
  }, [holt, runtimeId, commandId])
  return view
}

interface Follower {
  readonly signal: AbortSignal
  readonly show: (view: OutputView) => void
}

async function followOutput(holt: Holt, { runtimeId, commandId }: Place, { signal, show }: Follower): Promise<void> {
  let log = new OutputLog(false)
  let timer: ReturnType<typeof setTimeout> | undefined
  const showNow = (more: Partial<OutputView> = {}) => {
    clearTimeout(timer)
    timer = undefined
    if (!signal.aborted) show({ ...nothing, pieces: log.pieces, isCut: log.isCut, ...more })
  }
  try {
    const runtime = await holt.runtimes.get(runtimeId, { signal })
    const command = await runtime.commands.get(commandId, { signal })
    const cursor = firstCursor(command)
    log = new OutputLog(cursor > 0)
    let read = 0
    for await (const item of command.output({ cursor, signal })) {
      log.add(item)
      timer ??= setTimeout(showNow, showMs)
      read += 'data' in item ? item.data.length : 0
      if (read < turnBytes) continue
      read = 0
      await new Promise((resolve) => setTimeout(resolve)) // The page stays usable in a flood.
    }
    showNow({ follows: false })
  } catch (error) {
    showNow({ follows: false, error })
  }
}

function firstCursor({ stdout_bytes, stderr_bytes }: Command): number {
  return Math.max(0, stdout_bytes + stderr_bytes - firstBytes)
}

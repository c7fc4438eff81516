import { type CodeItem, type Holt, HoltApiError } from '@holt/sdk'
import { useEffect, useRef, useState } from 'react'
import { useSession } from '../session/session-context.ts'
import { type CellOutput, noOutput, withItem } from './cell-output.ts'
import { keepCells, keptCells, placeOfCells } from './kept-cells.ts'

/** The time for which items of a run are collected before the page shows them, in milliseconds. */
const collectMs = 50

/** Code that was run, with its output so far. */
export interface Cell {
  readonly number: number
  readonly code: string
  readonly output: CellOutput
  readonly error: unknown
  /** True if the interpreter no longer has the output of an earlier run. */
  readonly isForgotten: boolean
}

/** Code to run: in a context, or in the default context of a language. */
export interface NewCell {
  readonly code: string
  readonly where: { readonly context: string } | { readonly language: string }
  /** The time limit in seconds; 0: none. */
  readonly timeoutSecs: number
}

/**
 * Returns the cells that this tab of the browser has run in a runtime, and a function that runs
 * another. A run belongs to the runtime: it continues when the page is left, and is read again.
 * `onChange` is called at the start and at the end of a run, which change its context.
 */
export function useCells(runtimeId: string, onChange: () => void) {
  const { holt, session } = useSession()
  const place = placeOfCells(session.key_id, runtimeId)
  const [cells, setCells] = useState<readonly Cell[]>([])
  const left = useRef(new AbortController())
  const changed = useRef(onChange)
  changed.current = onChange
  const change = (number: number, news: Partial<Cell>) =>
    setCells((cells) => cells.map((cell) => (cell.number === number ? { ...cell, ...news } : cell)))

  const follow = async (number: number, items: AsyncIterable<CodeItem>, signal: AbortSignal) => {
    let output = noOutput
    let waiting: ReturnType<typeof setTimeout> | undefined
    const show = () => {
      waiting = undefined
      if (!signal.aborted) change(number, { output })
    }
    try {
      for await (const item of items) {
        output = withItem(output, item)
        if (item.type === 'start') changed.current()
        waiting ??= setTimeout(show, collectMs)
      }
    } catch (error) {
      const isForgotten = error instanceof HoltApiError && error.code === 'code_run_not_found'
      if (!signal.aborted) change(number, isForgotten ? { isForgotten } : { error })
    }
    clearTimeout(waiting)
    show()
    if (!signal.aborted) changed.current()
  }

  useEffect(() => {
    left.current = new AbortController()
    const { signal } = left.current
    const kept = keptCells(place)
    setCells(kept.map(({ number, code }) => ({ number, code, output: noOutput, error: null, isForgotten: false })))
    for (const { number, runId } of kept) void follow(number, readRun(holt, { runtimeId, runId, signal }), signal)
    return () => left.current.abort()
  }, [holt, runtimeId, place])

  useEffect(() => {
    const known = cells.flatMap(({ number, code, output: { runId }, isForgotten }) =>
      runId === null || isForgotten ? [] : [{ number, code, runId }],
    )
    if (known.length > 0) keepCells(place, known)
  }, [place, cells])

  const run = (cell: NewCell) => {
    const number = (cells.at(-1)?.number ?? 0) + 1
    const { signal } = left.current
    setCells([...cells, { number, code: cell.code, output: noOutput, error: null, isForgotten: false }])
    void follow(number, startRun(holt, { runtimeId, cell, signal }), signal)
  }
  return { cells, run }
}

interface Running {
  readonly runtimeId: string
  readonly signal: AbortSignal
}

async function* startRun(holt: Holt, { runtimeId, cell, signal }: Running & { readonly cell: NewCell }) {
  const { code } = await holt.runtimes.get(runtimeId, { signal })
  const { timeoutSecs: timeout_secs, where } = cell
  yield* code.stream(cell.code, { ...where, timeout_secs, signal, onAbort: 'leave' })
}

async function* readRun(holt: Holt, { runtimeId, runId, signal }: Running & { readonly runId: string }) {
  const { code } = await holt.runtimes.get(runtimeId, { signal })
  yield* code.read(runId, { signal })
}

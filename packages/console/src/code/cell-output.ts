import type { CodeError, CodeItem } from '@holt/sdk'

/** The most characters of output that a cell shows: the first ones. */
const mostCharacters = 2 ** 20

/** The most parts of a cell, such as displays. */
const mostParts = 500

/** A part of the output of a cell, in the order in which it came. */
type Part =
  | { readonly type: 'stdout' | 'stderr'; readonly text: string }
  | { readonly type: 'value'; readonly displayId: string | null; readonly data: Readonly<Record<string, unknown>> }

/** The output of a run so far. */
export interface CellOutput {
  readonly runId: string | null
  readonly isQueued: boolean
  readonly parts: readonly Part[]
  readonly error: CodeError | null
  readonly end: Extract<CodeItem, { readonly type: 'end' }> | null
  /** True if the next output takes the place of the parts. */
  readonly isCleared: boolean
  /** True if there was more output than a page can show, or than was kept. */
  readonly isCut: boolean
}

/** The output of a run that has not begun. */
export const noOutput: CellOutput = {
  runId: null,
  isQueued: false,
  parts: [],
  error: null,
  end: null,
  isCleared: false,
  isCut: false,
}

/** Returns the output after one more item of the run, as a notebook shows it. */
export function withItem(output: CellOutput, item: CodeItem): CellOutput {
  switch (item.type) {
    case 'start':
      return { ...output, runId: item.run_id }
    case 'queued':
      return { ...output, isQueued: true }
    case 'stdout':
    case 'stderr':
      return withText(beforeOutput(output), item.type, item.text)
    case 'update_display':
      return { ...output, parts: output.parts.map((part) => updated(part, item)) }
    case 'result':
    case 'display':
      return withPart(beforeOutput(output), {
        type: 'value',
        displayId: item.display_id ?? null,
        data: item.data,
      })
    case 'clear_output':
      return item.wait ? { ...output, isCleared: true } : { ...output, parts: [], isCleared: false }
    case 'error':
      return { ...output, error: { name: item.name, value: item.value, traceback: item.traceback } }
    case 'dropped':
      return { ...output, isCut: true }
    case 'end':
      return { ...output, isQueued: false, end: item, isCut: output.isCut || item.truncated }
    default:
      return output // A newer service may have items of other types.
  }
}

/** Returns the output that the next part is added to. */
function beforeOutput(output: CellOutput): CellOutput {
  return { ...output, isQueued: false, isCleared: false, parts: output.isCleared ? [] : output.parts }
}

function withText(output: CellOutput, type: 'stdout' | 'stderr', text: string): CellOutput {
  const used = output.parts.reduce((sum, part) => sum + (part.type === 'value' ? 0 : part.text.length), 0)
  const room = Math.max(0, mostCharacters - used)
  const fitting = text.slice(0, room)
  const isCut = output.isCut || fitting.length < text.length
  if (fitting === '') return { ...output, isCut }
  const last = output.parts.at(-1)
  if (last?.type !== type) return withPart({ ...output, isCut }, { type, text: fitting })
  return { ...output, isCut, parts: [...output.parts.slice(0, -1), { type, text: last.text + fitting }] }
}

function withPart(output: CellOutput, part: Part): CellOutput {
  if (output.parts.length >= mostParts) return { ...output, isCut: true }
  return { ...output, parts: [...output.parts, part] }
}

function updated(
  part: Part,
  { display_id, data }: { readonly display_id?: string | undefined; readonly data: Readonly<Record<string, unknown>> },
): Part {
  if (part.type !== 'value' || part.displayId === null || part.displayId !== display_id) return part
  return { ...part, data }
}

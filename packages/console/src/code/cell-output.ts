import type { CodeError, CodeItem } from '@holt/sdk'

/** The maximum number of characters of output that a cell shows: the first ones. */
const mostCharacters = 2 ** 20

/** The maximum number of parts of a cell, such as displays. */
const mostParts = 500

/**
 * The maximum number of characters of the values of a cell together. Code can send 16 MiB in each
 * of them.
 */
const mostOfValues = 32 * 2 ** 20

type Data = Readonly<Record<string, unknown>>

interface Value {
  readonly type: 'value'
  readonly displayId: string | null
  readonly data: Data
  /** The characters of the data. */
  readonly size: number
}

/** A part of the output of a cell, in the order in which it came. */
type Part = { readonly type: 'stdout' | 'stderr'; readonly text: string } | Value

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
      return withUpdate(output, item)
    case 'result':
    case 'display':
      return withPart(beforeOutput(output), {
        type: 'value',
        displayId: item.display_id ?? null,
        data: item.data,
        size: sizeOf(item.data),
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
  const parts = [...output.parts, part]
  if (parts.length > mostParts || isTooMuch(parts)) return { ...output, isCut: true }
  return { ...output, parts }
}

/** Returns the output with other data in the displays of an id. */
function withUpdate(
  output: CellOutput,
  { display_id, data }: { readonly display_id?: string | undefined; readonly data: Data },
): CellOutput {
  const isMeant = (part: Part): part is Value =>
    part.type === 'value' && part.displayId !== null && part.displayId === display_id
  if (!output.parts.some(isMeant)) return output
  const size = sizeOf(data)
  const parts = output.parts.map((part) => (isMeant(part) ? { ...part, data, size } : part))
  return isTooMuch(parts) ? { ...output, isCut: true } : { ...output, parts }
}

function isTooMuch(parts: readonly Part[]): boolean {
  return parts.reduce((sum, part) => sum + (part.type === 'value' ? part.size : 0), 0) > mostOfValues
}

function sizeOf(data: Data): number {
  const lengths = Object.values(data).map((form) => (typeof form === 'string' ? form : JSON.stringify(form)).length)
  return lengths.reduce((sum, length) => sum + length, 0)
}

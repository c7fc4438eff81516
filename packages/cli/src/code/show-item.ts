import type { CodeItem, CodeOutput } from '@holt/sdk'
import { say, writeBytes } from '../output/print.ts'
import { printable, visibleOutput } from '../output/visible.ts'
import { drawn, inlineProtocol, type Picture, type PictureMode, pictureOf, savePicture } from './pictures.ts'

/** The way to show the items of a run. */
export interface Shown {
  readonly pictures: PictureMode
  /** The directory for pictures that are not shown inline. */
  readonly directory: string
}

/** Shows one item of a run: output on stdout and stderr, and everything for people on stderr. */
export async function showItem(item: CodeItem, shown: Shown): Promise<void> {
  switch (item.type) {
    case 'stdout':
    case 'stderr':
      return write(process[item.type], item.text)
    case 'result':
    case 'display':
    case 'update_display':
      return showValue(item, shown)
    case 'error':
      return write(process.stderr, `${[...item.traceback].join('\n') || `${item.name}: ${item.value}`}\n`)
    case 'dropped':
      return say(`holt: ${item.dropped_bytes} bytes of output are not shown`)
    case 'queued':
      return say('holt: the code waits for earlier code of its context')
    default:
      return
  }
}

/**
 * Writes text of a runtime. A terminal gets no control characters, and a file gets the text as it
 * is.
 */
function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return writeBytes(stream, Buffer.from(stream.isTTY === true ? visibleOutput(text) : text))
}

async function showValue(value: Pick<CodeOutput, 'data'>, { pictures, directory }: Shown): Promise<void> {
  const picture = pictures === 'none' ? null : pictureOf(value)
  if (picture !== null) {
    if (await drewInline(picture, pictures)) return
    return say(`holt: saved ${printable(await savePicture(picture, directory))}`)
  }
  const { 'text/plain': plain } = value.data
  if (typeof plain === 'string') return write(process.stdout, `${plain}\n`)
  const names = Object.keys(value.data).map(printable)
  if (names.length > 0) say(`holt: a result of ${names.join(', ')}; use --json to get it`)
}

async function drewInline(picture: Picture, mode: PictureMode): Promise<boolean> {
  if (mode === 'files' || (mode === 'auto' && process.stdout.isTTY !== true)) return false
  const protocol = inlineProtocol(process.env) ?? (mode === 'inline' ? 'iterm2' : null)
  const sequences = protocol === null ? null : drawn(picture, protocol)
  if (sequences === null) return false
  await writeBytes(process.stdout, Buffer.from(sequences))
  return true
}

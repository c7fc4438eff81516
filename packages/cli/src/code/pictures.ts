import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { CodeOutput } from '@holt/sdk'

/** The ways to show a picture. */
export const pictureModes = ['auto', 'inline', 'files', 'none'] as const
export type PictureMode = (typeof pictureModes)[number]

/** A picture of a result: its bytes, and the ending of its file. */
export interface Picture {
  readonly bytes: Buffer
  readonly ending: 'png' | 'jpg' | 'svg' | 'pdf'
}

/** The forms that are pictures, the first ones preferred. */
const forms = [
  { mime: 'image/png', ending: 'png', start: Buffer.from([0x89, 0x50, 0x4e, 0x47]) },
  { mime: 'image/jpeg', ending: 'jpg', start: Buffer.from([0xff, 0xd8, 0xff]) },
  { mime: 'image/svg+xml', ending: 'svg', start: null },
  { mime: 'application/pdf', ending: 'pdf', start: Buffer.from('%PDF') },
] as const

/** Returns the picture of a result; null if it has none. */
export function pictureOf({ data }: Pick<CodeOutput, 'data'>): Picture | null {
  for (const { mime, ending, start } of forms) {
    const form = data[mime]
    if (typeof form !== 'string') continue
    const bytes = Buffer.from(form, start === null ? 'utf8' : 'base64')
    if (start === null || bytes.subarray(0, start.length).equals(start)) return { bytes, ending }
  }
  return null
}

/** A protocol for pictures in a terminal. */
export type InlineProtocol = 'iterm2' | 'kitty'

/**
 * Returns the protocol for pictures of the terminal, by the variables that it sets; null if none is
 * known. A multiplexer passes none on.
 */
export function inlineProtocol(env: Readonly<Record<string, string | undefined>>): InlineProtocol | null {
  const { TERM = '', TERM_PROGRAM = '', LC_TERMINAL, KITTY_WINDOW_ID, TMUX, STY } = env
  if (TMUX || STY || /^(?:screen|tmux)/.test(TERM)) return null
  if (TERM === 'xterm-kitty' || TERM === 'xterm-ghostty' || KITTY_WINDOW_ID || TERM_PROGRAM === 'ghostty')
    return 'kitty'
  return LC_TERMINAL === 'iTerm2' || ['iTerm.app', 'WezTerm', 'rio'].includes(TERM_PROGRAM) ? 'iterm2' : null
}

/**
 * The maximum number of characters of base64 in one part of a picture (Kitty's graphics protocol).
 */
const kittyPartLength = 4096

/**
 * Returns the sequences that draw a picture, or null if the protocol does not take its format. They
 * contain nothing of the runtime but base64 of the decoded bytes.
 *
 * Sources: iterm2.com/documentation-images.html, sw.kovidgoyal.net/kitty/graphics-protocol.
 */
export function drawn({ bytes, ending }: Picture, protocol: InlineProtocol): string | null {
  const text = bytes.toString('base64')
  if (protocol === 'iterm2') {
    if (ending !== 'png' && ending !== 'jpg') return null
    return `\u001b]1337;File=inline=1;size=${bytes.length}:${text}\u0007\n`
  }
  if (ending !== 'png') return null
  const parts = text.match(new RegExp(`.{1,${kittyPartLength}}`, 'g')) ?? []
  const sequences = parts.map((part, at) => {
    const more = at < parts.length - 1 ? 1 : 0
    return `\u001b_G${at === 0 ? 'a=T,f=100,q=2,' : ''}m=${more};${part}\u001b\\`
  })
  return `${sequences.join('')}\n`
}

/** The maximum number of files that are looked at for a free name. */
const maxNumber = 10_000

/** Saves a picture below a directory as `figure-N`, and returns the path. No file is replaced. */
export async function savePicture({ bytes, ending }: Picture, directory: string): Promise<string> {
  await mkdir(directory, { recursive: true })
  for (let number = 1; number <= maxNumber; number += 1) {
    const path = join(directory, `figure-${number}.${ending}`)
    try {
      await using file = await open(path, 'wx')
      await file.writeFile(bytes)
      return path
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  throw new Error(`${directory} has ${maxNumber} figures already`)
}

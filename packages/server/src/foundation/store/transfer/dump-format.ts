import { createHash } from 'node:crypto'
import { z } from 'zod'
import { maxKeptAnswerBytes } from '../../rows/kept-answers.ts'

/** The version of the format. The schema in a dump has a version of its own. */
export const dumpVersion = 1

/** The value of a column. Neither database has other types. */
const Value = z.union([z.string(), z.number(), z.null()])

/** A row, by column. */
export type DumpRow = Readonly<Record<string, z.infer<typeof Value>>>

const name = z.string().regex(/^[a-z][a-z0-9_]{0,59}$/)

const Header = z.strictObject({
  format: z.literal('holt-store'),
  version: z.literal(dumpVersion, `this holtd reads version ${dumpVersion} of the format`),
  schema: z.number().int().positive(),
  holt: z.string(),
  created_at: z.string(),
})

const Line = z.union([
  z.strictObject({ table: name, row: z.record(name, Value) }),
  z.strictObject({ table: name, counter: z.number().int().nonnegative() }),
  z.strictObject({ end: z.strictObject({ rows: z.number().int().nonnegative(), sha256: z.string() }) }),
])

/** The first line of a dump. */
export type DumpHeader = z.infer<typeof Header>

/** A line after the first one: a row, the counter of a table, or the end. */
export type DumpLine = Exclude<z.infer<typeof Line>, { readonly end: unknown }>

/**
 * The length of the longest line, in bytes. The largest row is a kept answer of a request. Earlier
 * versions kept longer ones, and their dumps can be read as well.
 */
const maxLineBytes = 64 * maxKeptAnswerBytes

/**
 * Writes lines, and then one with the digest of all bytes before it. A dump without that last line
 * is incomplete.
 */
export async function* encodeDump(header: DumpHeader, lines: AsyncIterable<DumpLine>): AsyncGenerator<string> {
  const hash = createHash('sha256')
  let rows = 0
  const seal = (value: unknown) => {
    const text = `${JSON.stringify(value)}\n`
    hash.update(text)
    return text
  }
  yield seal(header)
  for await (const line of lines) {
    if ('row' in line) rows += 1
    yield seal(line)
  }
  yield `${JSON.stringify({ end: { rows, sha256: hash.digest('hex') } })}\n`
}

/**
 * A dump that is being read. A caller may keep the results of its lines only if the last one has
 * been read without an error.
 */
export interface DecodedDump {
  readonly header: DumpHeader
  readonly lines: AsyncIterable<DumpLine>
}

/**
 * Reads a dump. Throws an error for people if it is not a dump or was changed. Reading its last
 * line throws if something is missing. The error names the line.
 */
export async function decodeDump(bytes: AsyncIterable<Uint8Array>): Promise<DecodedDump> {
  const hash = createHash('sha256')
  const lines = splitLines(bytes)
  const first = await lines.next()
  const header = Header.safeParse(first.done === true ? null : parse(first.value.text))
  if (first.done === true || !header.success)
    throw new Error(`this is not a dump of a store: ${problemOf(header.error)}`)
  hash.update(`${first.value.text}\n`)
  return { header: header.data, lines: decodeLines(lines, hash) }
}

async function* decodeLines(
  lines: AsyncGenerator<TextLine, void>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<DumpLine> {
  let rows = 0
  let number = 1
  for await (const { text, isWhole } of lines) {
    number += 1
    const value = parse(text)
    if (value === null && !isWhole) throw cutOff(`in the middle of line ${number}`, rows)
    const line = Line.safeParse(value)
    if (!line.success) {
      const what = value === null ? 'no JSON' : 'neither a row nor the end'
      throw new Error(`the dump is damaged in line ${number}: it is ${what}`)
    }
    if ('end' in line.data) {
      if (line.data.end.rows !== rows || line.data.end.sha256 !== hash.digest('hex'))
        throw new Error('the dump is damaged: its checksum is wrong')
      if ((await lines.next()).done !== true)
        throw new Error(`the dump is damaged: it continues after its end, line ${number}`)
      return
    }
    hash.update(`${text}\n`)
    if ('row' in line.data) rows += 1
    yield line.data
  }
  throw cutOff(`after line ${number}`, rows)
}

/** Returns the error for a dump without an end, as after an interrupted copy or on a full disk. */
function cutOff(where: string, rows: number): Error {
  return new Error(`the dump ends early, ${where}, after ${rows} rows: it was cut off, and nothing was imported`)
}

/** A line of a text. Only the last one may lack its line break. */
interface TextLine {
  readonly text: string
  readonly isWhole: boolean
}

async function* splitLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<TextLine, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  for await (const chunk of bytes) {
    const parts = `${rest}${decode(() => decoder.decode(chunk, { stream: true }))}`.split('\n')
    rest = parts.pop() ?? ''
    if (rest.length > maxLineBytes) throw new Error('this is not a dump of a store: a line has no end')
    yield* parts.map((text) => ({ text, isWhole: true }))
  }
  // The decoder is not flushed. A character that is cut off is in a line that is cut off.
  if (rest !== '') yield { text: rest, isWhole: false }
}

function decode(run: () => string): string {
  try {
    return run()
  } catch {
    throw new Error('this is not a dump of a store: it is not UTF-8')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null // No line is null, so the schema refuses it.
  }
}

function problemOf(error: z.ZodError | undefined): string {
  return error?.issues[0]?.message ?? 'it is empty'
}

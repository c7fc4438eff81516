import type { CallToolResult } from '@modelcontextprotocol/server'
import { Excerpt } from './excerpt.ts'
import { grouped } from './results.ts'

/** The maximum number of bytes of text in one result, about 32,000 tokens. Few tools come near. */
const maxResultBytes = 128 * 1024

/** The bytes that each text of a result may have in any case, so that notes at its end stay. */
const leastBytes = 2 * 1024

/**
 * Returns a result whose texts are short enough for a model. Names of files can be long, and a list
 * has many. Of a text that is too long the middle is left out.
 */
export function boundResult({ content, ...rest }: CallToolResult): CallToolResult {
  let room = maxResultBytes
  const bounded = content.map((block) => {
    if (block.type !== 'text') return block
    const text = shortened(block.text, Math.max(room, leastBytes))
    room -= Buffer.byteLength(text)
    return { ...block, text }
  })
  return { ...rest, content: bounded }
}

function shortened(text: string, most: number): string {
  const bytes = new TextEncoder().encode(text)
  if (bytes.length <= most) return text
  const tailBytes = Math.floor(most / 4)
  const excerpt = new Excerpt({ headBytes: most - tailBytes, tailBytes })
  excerpt.add(bytes, 0)
  return excerpt.text(
    (leftOut) => `[… ${grouped(leftOut.bytes)} bytes left out. Ask for less: a narrower path, or fewer results …]`,
  )
}

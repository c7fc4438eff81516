import type { CodeOutput } from '@holt/protocol'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { Excerpt } from './excerpt.ts'
import { grouped, textResult, withoutStyles } from './results.ts'

type Content = CallToolResult['content']

/** The maximum number of images of one result, and the most bytes of base64 of all of them. */
const maxImages = 8
const maxImageBytes = 4 * 1024 * 1024

/** The part of one value that a result has, and the most values. */
const valueSize = { headBytes: 6 * 1024, tailBytes: 2 * 1024 }
const maxValues = 20

/** The images that models read. */
const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

/** The forms of a value that models read, best first. */
const textTypes = [
  ...['application/json', 'text/markdown', 'text/plain', 'text/latex', 'text/html'],
  ...['image/svg+xml', 'application/javascript'],
]

/**
 * Returns the values of a run as content: images as images, and of others the form that a model
 * reads best. Names the omitted parts. `isCut` is true if the client left out forms.
 */
export function codeValues(values: readonly CodeOutput[], isCut: boolean): Content {
  const content: Content = []
  const room = { images: maxImages, bytes: maxImageBytes }
  let omitted = 0
  for (const { data } of values.slice(0, maxValues)) {
    const image = imageOf(data)
    if (image === null) content.push(...textResult(`--- result ---\n${textOf(data)}`).content)
    else if (room.images > 0 && image.data.length <= room.bytes) {
      room.images -= 1
      room.bytes -= image.data.length
      content.push({ type: 'image', ...image })
    } else omitted += 1
  }
  const notes = [
    omitted === 0
      ? ''
      : `[${omitted} images left out: a result has at most ${maxImages}, with ${grouped(maxImageBytes)} bytes. Save them as files, and use read_file]`,
    values.length > maxValues ? `[${values.length - maxValues} values left out. Display fewer in one run]` : '',
    isCut ? '[Values, or forms of them, were too large or came too fast, and are left out. Write them to files]' : '',
  ]
  return [...content, ...textResult(...notes).content]
}

function imageOf(data: CodeOutput['data']): { readonly data: string; readonly mimeType: string } | null {
  for (const mimeType of imageTypes) {
    const image = data[mimeType]
    if (typeof image !== 'string') continue
    // Kernels break lines in base64, which the protocol does not allow.
    const joined = image.replace(/\s+/g, '')
    if (isBase64(joined)) return { data: joined, mimeType }
  }
  return null
}

/**
 * Returns true for valid base64. Code can display anything as an image, and a client refuses a
 * whole result if one is wrong.
 */
function isBase64(text: string): boolean {
  try {
    return atob(text) !== ''
  } catch {
    return false // The error says only that.
  }
}

function textOf(data: CodeOutput['data']): string {
  const type = textTypes.find((one) => data[one] !== undefined)
  if (type === undefined) return `[A value without a form that is text: ${Object.keys(data).join(', ') || 'no forms'}]`
  const value = data[type]
  const excerpt = new Excerpt(valueSize)
  excerpt.add(new TextEncoder().encode(typeof value === 'string' ? withoutStyles(value) : JSON.stringify(value)), 0)
  return excerpt.text(
    ({ bytes }) => `[… ${grouped(bytes)} bytes of the value left out. Print parts of it, or write it to a file …]`,
  )
}

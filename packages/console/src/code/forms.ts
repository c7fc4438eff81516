/** The ways to show a form of a value. */
type Kind = 'chart' | 'image' | 'svg' | 'html' | 'json' | 'pdf' | 'text'

/** A form of a value: its media type, and the way to show it. */
export interface ShownForm {
  readonly type: string
  readonly kind: Kind
  readonly value: unknown
}

/** The type of charts as data, of matplotlib: see templates/code-interpreter. */
const chartType = 'application/vnd.holt.chart+json'

const images: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

/** The types from the most telling to the least. Others follow, and plain text is last. */
const order = [
  chartType,
  ...images,
  'image/svg+xml',
  'text/html',
  'application/json',
  'text/markdown',
  'text/latex',
  'application/pdf',
]

/** Returns the forms of a value, the most telling first. Code chooses them, so each is checked. */
export function formsOf(data: Readonly<Record<string, unknown>>): readonly ShownForm[] {
  return Object.entries(data)
    .map(([type, value]) => ({ type, kind: kindOf(type, value), value }))
    .toSorted((one, other) => rankOf(one.type) - rankOf(other.type))
}

function rankOf(type: string): number {
  const at = order.indexOf(type)
  return at !== -1 ? at : type === 'text/plain' ? order.length + 1 : order.length
}

function kindOf(type: string, value: unknown): Kind {
  if (typeof value !== 'string') return type === chartType ? 'chart' : 'json'
  if (images.includes(type) && isBase64(value)) return 'image'
  if (type === 'image/svg+xml') return 'svg'
  if (type === 'application/pdf' && beginsAsPdf.test(value) && isBase64(value)) return 'pdf'
  return type === 'text/html' ? 'html' : 'text'
}

/** The beginning `%PDF-` in base64. Its last character also has bits of what follows. */
const beginsAsPdf = /^\s*JVBERi[0-3]/

/** Each character is looked at once. An image that is not base64 in another way says so itself. */
function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/=\s]+$/.test(text)
}

/** A request of a client to a vendor's API, with its whole body. */
export interface VendorRequest {
  readonly host: string
  readonly method: string
  readonly path: string
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[]
  readonly body: string
}

/** The answer of a vendor's API. */
export interface VendorAnswer {
  readonly status: number
  readonly type: 'application/json' | 'text/event-stream'
  readonly body: string
}

/** The beginnings of the keys that a vendor's API accepts. A placeholder has none of them. */
export const vendorKeyPrefix = 'rig-vendor-key-'

/** How a prompt says what has to come back. */
const asked = /say-[a-z0-9]{6,40}/g

/** The hosts whose APIs are played. */
const vendors: Readonly<
  Record<string, { keyOf(request: VendorRequest): string; answer(request: VendorRequest): VendorAnswer }>
> = {
  'api.anthropic.com': { keyOf: (request) => headerOf(request, 'x-api-key'), answer: anthropic },
  'api.openai.com': { keyOf: (request) => headerOf(request, 'authorization').replace(/^Bearer /, ''), answer: openai },
  'generativelanguage.googleapis.com': { keyOf: (request) => headerOf(request, 'x-goog-api-key'), answer: google },
}

/** The hosts of the vendors' APIs. */
export const vendorHosts: readonly string[] = Object.keys(vendors)

/** Returns true if a host is a vendor's API. */
export function isVendor(host: string): boolean {
  return Object.hasOwn(vendors, host)
}

/**
 * Answers as the API of a model vendor does: a model that gives back, in capitals, the last
 * `say-...` it was told. Without a key it knows, 401.
 */
export function answerAsVendor(request: VendorRequest): VendorAnswer {
  const vendor = vendors[request.host]
  if (vendor === undefined) return json(404, { error: { message: 'no such host' } })
  if (!vendor.keyOf(request).startsWith(vendorKeyPrefix))
    return json(401, {
      type: 'error',
      error: { type: 'authentication_error', message: 'invalid x-api-key', code: 401 },
    })
  return vendor.answer(request)
}

function headerOf({ rawHeaders }: VendorRequest, name: string): string {
  const at = rawHeaders.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name)
  return at < 0 ? '' : (rawHeaders[at + 1] ?? '')
}

function replyTo(body: string): string {
  return (body.match(asked)?.at(-1) ?? 'nothing').replace('say-', '').toUpperCase()
}

/** Messages (https://docs.anthropic.com/en/api/messages-streaming). */
function anthropic({ method, path, body }: VendorRequest): VendorAnswer {
  const [bare] = path.split('?', 1)
  if (method === 'POST' && bare === '/v1/messages/count_tokens') return json(200, { input_tokens: 10 })
  if (method !== 'POST' || bare !== '/v1/messages')
    return json(404, { type: 'error', error: { type: 'not_found_error', message: 'not found' } })
  const { model, stream } = JSON.parse(body) as { model: string; stream?: boolean }
  const text = replyTo(body)
  const usage = { input_tokens: 10, output_tokens: 5 }
  const message = { id: 'msg_rig', type: 'message', role: 'assistant', model, stop_sequence: null, usage }
  if (stream !== true) return json(200, { ...message, content: [{ type: 'text', text }], stop_reason: 'end_turn' })
  return events([
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'ping' },
    ...inParts(text).map((part) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: part },
    })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ])
}

/** Responses (https://platform.openai.com/docs/api-reference/responses-streaming). */
function openai({ method, path, body }: VendorRequest): VendorAnswer {
  const [bare] = path.split('?', 1)
  if (method === 'GET' && bare === '/v1/models') return json(200, { object: 'list', data: [] })
  if (method !== 'POST' || bare !== '/v1/responses')
    return json(404, { error: { message: 'not found', type: 'invalid_request_error' } })
  const { model, stream } = JSON.parse(body) as { model: string; stream?: boolean }
  const text = replyTo(body)
  const part = { type: 'output_text', text, annotations: [] }
  const item = { id: 'msg_rig', type: 'message', role: 'assistant' }
  const done = { ...item, status: 'completed', content: [part] }
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15,
  }
  const response = {
    id: 'resp_rig',
    object: 'response',
    created_at: 1_700_000_000,
    model,
    status: 'in_progress',
    output: [] as unknown[],
    usage: null as unknown,
  }
  const completed = { ...response, status: 'completed', output: [done], usage }
  if (stream !== true) return json(200, completed)
  const place = { item_id: item.id, output_index: 0, content_index: 0 }
  return events(
    [
      { type: 'response.created', response },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
      { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
      ...inParts(text).map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
      { type: 'response.output_text.done', ...place, text },
      { type: 'response.content_part.done', ...place, part },
      { type: 'response.output_item.done', output_index: 0, item: done },
      { type: 'response.completed', response: completed },
    ].map((event, sequence_number) => ({ ...event, sequence_number })),
  )
}

/** generateContent (https://ai.google.dev/api/generate-content). */
function google({ method, path, body }: VendorRequest): VendorAnswer {
  const [, verb] = /^\/v1(?:beta)?\/models\/[^/:]+:(\w+)/.exec(path) ?? []
  if (method !== 'POST' || verb === undefined)
    return json(404, { error: { code: 404, message: 'not found', status: 'NOT_FOUND' } })
  if (verb === 'countTokens') return json(200, { totalTokens: 10 })
  const part = (text: string, finishReason?: string) => ({
    candidates: [
      {
        content: { role: 'model', parts: [{ text }] },
        index: 0,
        ...(finishReason === undefined ? {} : { finishReason }),
      },
    ],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  })
  const { generationConfig } = JSON.parse(body) as {
    generationConfig?: Record<'responseJsonSchema' | 'responseSchema', Schema | undefined>
  }
  const schema = generationConfig?.responseJsonSchema ?? generationConfig?.responseSchema
  const text = schema === undefined ? replyTo(body) : JSON.stringify(exampleOf(schema))
  if (verb !== 'streamGenerateContent') return json(200, part(text, 'STOP'))
  const parts = inParts(text)
  return events(parts.map((some, index) => part(some, index === parts.length - 1 ? 'STOP' : undefined)))
}

/** The part of JSON Schema that is used to ask a model for JSON. */
interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
}

/** Something that a schema allows. */
function exampleOf({ type, properties = {} }: Schema): unknown {
  switch (type?.toLowerCase()) {
    case 'object':
      return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, exampleOf(schema)]))
    case 'array':
      return []
    case 'integer':
    case 'number':
      return 1
    case 'boolean':
      return false
    default:
      return 'simple'
  }
}

function inParts(text: string): string[] {
  return [text.slice(0, 3), text.slice(3)]
}

function json(status: number, body: object): VendorAnswer {
  return { status, type: 'application/json', body: JSON.stringify(body) }
}

/** Server-sent events, named by their type where they have one. */
function events(items: readonly object[]): VendorAnswer {
  const lines = items.map((item) => `${'type' in item ? `event: ${item.type}\n` : ''}data: ${JSON.stringify(item)}\n\n`)
  return { status: 200, type: 'text/event-stream', body: lines.join('') }
}

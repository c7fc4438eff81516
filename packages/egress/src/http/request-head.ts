/** A request head with exactly one meaning. */
export interface RequestHead {
  readonly type: 'request'
  readonly method: string
  /** Origin form or `*`, as it is forwarded. */
  readonly target: string
  /** The target without the query. */
  readonly path: string
  readonly version: '1.0' | '1.1'
  /** The Host field. It equals the authority of an absolute target. */
  readonly host: string
  /** All fields except Host, in their order. */
  readonly headers: readonly HeaderField[]
  readonly body: BodyFraming
  /** True if it asks for a switch to WebSocket, the only one that is forwarded. */
  readonly wantsWebSocket: boolean
}

/** One header field, with its name as written. */
export interface HeaderField {
  readonly name: string
  readonly value: string
}

/** The way in which a request's body ends. */
export type BodyFraming = { readonly type: 'length'; readonly bytes: number } | { readonly type: 'chunked' }

/** The reason why a head is refused. */
export interface BadHead {
  readonly type: 'bad'
  readonly why: string
}

/** The maximum number of bytes of a head. It is more than servers accept by default. */
export const maxHeadBytes = 32 * 1024
const maxFields = 100

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/**
 * Visible characters, spaces, tabs and bytes above ASCII (RFC 9110, 5.5). No CR, LF, NUL or other
 * control characters.
 */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/
const requestLine = /^([A-Z][A-Z-]{0,31}) ([\x21-\x7e]{1,16384}) HTTP\/1\.([01])$/

/**
 * Reads the head of a request (RFC 9112), without the empty line at its end. Refuses everything
 * that two servers may read differently: bare CR or LF, folded lines, spaces before the colon, two
 * lengths, a length beside chunks, two Hosts, a Host that is not the target's.
 */
export function readRequestHead(bytes: Buffer): RequestHead | BadHead {
  const [first = '', ...lines] = bytes.toString('latin1').split('\r\n')
  const [, method, target, minor] = requestLine.exec(first) ?? []
  if (method === undefined || target === undefined) return bad('request line')
  if (lines.length > maxFields) return bad('too many fields')
  const fields = lines.map(readField)
  if (fields.some((field) => field === null)) return bad('field')
  const headers = fields.filter((field) => field !== null)
  const version = minor === '0' ? '1.0' : '1.1'
  const aim = readTarget(method, target)
  const hosts = valuesOf(headers, 'host')
  if (aim === null) return bad('target')
  if (hosts.length !== 1) return bad(hosts.length === 0 ? 'no Host' : 'more than one Host')
  const host = hosts[0] ?? ''
  if (aim.authority !== null && aim.authority.toLowerCase() !== host.toLowerCase())
    return bad('Host is not that of the target')
  const body = readFraming(headers, version)
  if (body.type === 'bad') return body
  const path = aim.target.split('?', 1)[0] ?? ''
  const rest = headers.filter((field) => field.name.toLowerCase() !== 'host')
  return { type: 'request', method, target: aim.target, path, version, host, body, ...withoutSwitch(rest) }
}

/** Writes a parsed head for the host that was decided on. */
export function writeRequestHead(head: RequestHead, host: string): Buffer {
  const lines = [
    `${head.method} ${head.target} HTTP/${head.version}`,
    `Host: ${host}`,
    ...head.headers.map(({ name, value }) => `${name}: ${value}`),
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

/** Returns the members of a comma-separated field, in lower case. */
function membersOf(headers: readonly HeaderField[], name: string): string[] {
  return valuesOf(headers, name)
    .flatMap((value) => value.split(','))
    .map((member) => member.trim().toLowerCase())
}

function valuesOf(headers: readonly HeaderField[], name: string): string[] {
  return headers.filter((field) => field.name.toLowerCase() === name).map(({ value }) => value)
}

function readField(line: string): HeaderField | null {
  const colon = line.indexOf(':')
  const name = line.slice(0, Math.max(colon, 0))
  const value = line.slice(colon + 1)
  if (colon < 1 || !token.test(name) || !fieldValue.test(value)) return null
  return { name, value: withoutBlanks(value) }
}

/**
 * Returns the value without blanks around it (RFC 9112, 5.1). A regular expression for those at its
 * end would also start at each blank in the middle.
 */
function withoutBlanks(value: string): string {
  let [start, end] = [0, value.length]
  while (start < end && isBlank(value, start)) start += 1
  while (end > start && isBlank(value, end - 1)) end -= 1
  return value.slice(start, end)
}

function isBlank(value: string, at: number): boolean {
  return value[at] === ' ' || value[at] === '\t'
}

/**
 * Reads origin form, absolute form of plain HTTP, or `*` for OPTIONS (RFC 9112, 3.2). Returns null
 * for anything else. A fragment is never sent, so it is refused.
 */
function readTarget(method: string, target: string): { authority: string | null; target: string } | null {
  if (method === 'CONNECT' || target.includes('#')) return null
  if (target.startsWith('/')) return { authority: null, target }
  if (target === '*') return method === 'OPTIONS' ? { authority: null, target } : null
  const [, authority, rest = ''] = /^http:\/\/([^/?@]+)([/?].*)?$/i.exec(target) ?? []
  if (authority === undefined) return null
  return { authority, target: rest.startsWith('/') ? rest : `/${rest}` }
}

/**
 * Fields that Connection must not name. A proxy on the way would drop them, and the request would
 * then end elsewhere or go to another host.
 */
const lasting = ['host', 'content-length', 'transfer-encoding']

function readFraming(headers: readonly HeaderField[], version: string): BodyFraming | BadHead {
  if (membersOf(headers, 'connection').some((member) => lasting.includes(member))) return bad('Connection')
  const lengths = valuesOf(headers, 'content-length')
  const codings = valuesOf(headers, 'transfer-encoding')
  if (codings.length > 0) {
    if (lengths.length > 0) return bad('a length beside chunks')
    if (version === '1.0') return bad('chunks in HTTP/1.0')
    return codings.length === 1 && codings[0]?.toLowerCase() === 'chunked'
      ? { type: 'chunked' }
      : bad('transfer coding')
  }
  if (lengths.length > 1) return bad('more than one length')
  const length = lengths[0] ?? '0'
  return /^\d{1,15}$/.test(length) ? { type: 'length', bytes: Number(length) } : bad('length')
}

/**
 * Removes an offer to switch to anything but WebSocket (h2c, for example). Such a switch would hide
 * later requests.
 */
function withoutSwitch(headers: readonly HeaderField[]): Pick<RequestHead, 'headers' | 'wantsWebSocket'> {
  const offers = membersOf(headers, 'upgrade')
  if (offers.length === 1 && offers[0] === 'websocket' && membersOf(headers, 'connection').includes('upgrade'))
    return { headers, wantsWebSocket: true }
  return { headers: withoutUpgrade(headers), wantsWebSocket: false }
}

/** Returns the fields without an offer to switch protocols. */
export function withoutUpgrade(headers: readonly HeaderField[]): readonly HeaderField[] {
  return headers.flatMap((field) => {
    const name = field.name.toLowerCase()
    if (name === 'upgrade' || name === 'http2-settings') return []
    if (name !== 'connection') return [field]
    const kept = field.value.split(',').filter((member) => !/^(?:upgrade|http2-settings)$/i.test(member.trim()))
    return kept.length === 0 ? [] : [{ name: field.name, value: kept.join(',').trim() }]
  })
}

function bad(why: string): BadHead {
  return { type: 'bad', why }
}

import { ConnectError } from '../errors/connect-error.ts'

/** The facts in the headers of a part. */
export interface PartHeaders {
  /** The name of the form's field. */
  readonly name: string
  /** The name of the file, with directories. Null: the part is no file. */
  readonly filename: string | null
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads the headers of a part (RFC 7578, 4.2 and 4.8). Throws `invalid_argument` if they are not
 * UTF-8 or name no field.
 */
export function partHeaders(bytes: Buffer): PartHeaders {
  for (const line of textOf(bytes).split('\r\n')) {
    const colon = line.indexOf(':')
    if (line.slice(0, colon).trim().toLowerCase() !== 'content-disposition') continue
    const parameters = parametersIn(line.slice(colon + 1))
    const name = parameters.get('name')
    if (name !== undefined) return { name, filename: parameters.get('filename') ?? null }
  }
  throw new ConnectError('invalid_argument', 'A part of the form has no Content-Disposition with a name.')
}

function textOf(bytes: Buffer): string {
  try {
    return decoder.decode(bytes)
  } catch (cause) {
    throw new ConnectError('invalid_argument', 'The headers of a part are not UTF-8.', { cause })
  }
}

/**
 * Returns the parameters of a header by their names in lower case. Forms write a quote, CR and LF
 * as `%22`, `%0D` and `%0A` (WHATWG HTML, "Multipart form data"). The client for Python also writes
 * a backslash twice (RFC 9110, 5.6.4, quoted pair).
 */
function parametersIn(value: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  const form = /\s*;\s*([^=;\s]+)=(?:"([^"]*)"|([^;\s"]*))/y
  form.lastIndex = /^\s*[^;\s]*/.exec(value)?.[0].length ?? 0
  for (let found = form.exec(value); found !== null; found = form.exec(value)) {
    const [, name = '', quoted, token = ''] = found
    const raw = quoted ?? token
    const plain = raw.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n')
    parameters.set(name.toLowerCase(), plain.replaceAll('\\\\', '\\'))
  }
  return parameters
}

import type { GuestRequest } from '@holt/engine'

/** Returns a request that reads something. */
export function get(path: string, signal: AbortSignal): GuestRequest {
  return { method: 'GET', path, signal }
}

/** Returns a request that ends or removes something. */
export function remove(path: string, signal: AbortSignal): GuestRequest {
  return { method: 'DELETE', path, signal }
}

/** Returns a request with a body of JSON. */
export function post(path: string, body: object, signal: AbortSignal): GuestRequest {
  return { method: 'POST', path, ...json(body), signal }
}

/** Returns a body of JSON with its header. */
export function json(body: object): { readonly headers: Record<string, string>; readonly body: Uint8Array } {
  return { headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(body)) }
}

/** Returns fields as a query. Undefined ones are left out. */
export function query(values: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`)
    .join('&')
}

/** Returns a boolean as a query has it. */
export function flag(value: boolean): 0 | 1 {
  return value ? 1 : 0
}

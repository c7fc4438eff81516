import { InvalidArgumentError } from 'commander'

/** Collects `KEY=VALUE`; a later one wins. */
export function keyValue(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It must be KEY=VALUE.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}

/** Collects environment variables: `KEY=VALUE`, or `KEY` for the value it has here. */
export function environmentVariable(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Record<string, string> {
  if (text.includes('=')) return keyValue(text, before)
  const value = process.env[text]
  return value === undefined ? { ...before } : { ...before, [text]: value }
}

/** Collects what an option that repeats is given. */
export function collected(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

/** An amount of memory or disk as the API takes it: a number of GiB, or a string with a unit. */
export function size(text: string): number | string {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

/** A number of seconds or vCPUs, 0 or more. */
export function notNegative(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError('It must be a number, 0 or more.')
  return value
}

/** A TCP port. */
export function port(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It must be a port, 1 to 65535.')
  return Number(text)
}

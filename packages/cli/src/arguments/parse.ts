import { parseMiB } from '@holt/protocol'
import { InvalidArgumentError } from 'commander'
import { say, styled } from '../output/print.ts'
import { mib } from '../output/table.ts'
import { printable } from '../output/visible.ts'

/** Collects `KEY=VALUE`. A later one wins. */
export function keyValue(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It must be KEY=VALUE.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}

/**
 * Collects environment variables: `KEY=VALUE`, or `KEY` for its local value. A variable that is not
 * set here is left out with a message.
 */
export function environmentVariable(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Record<string, string> {
  if (text.includes('=')) return keyValue(text, before)
  const value = process.env[text]
  if (value !== undefined) return { ...before, [text]: value }
  say(`${styled('yellow', 'warning')}: ${printable(text)} is not set here, so it is left out`)
  return { ...before }
}

/** Collects the values of a repeated option. */
export function collected(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

/**
 * Returns an amount of memory or disk in the API's form: a number of GiB, or a string with a unit.
 * A decimal unit is reported in MiB, as the runtime is displayed.
 */
export function size(text: string): number | string {
  const mibs = /[KMGT]B$/.test(text) ? parseMiB(text) : null
  if (mibs !== null) say(`holt: ${text} is ${mib(mibs)}`)
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

/** Returns a number of vCPUs, 0 or more. */
export function notNegative(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError('It must be a number, 0 or more.')
  return value
}

const secondsOf = { s: 1, m: 60, h: 3600, d: 86_400 } as const
const longestSecs = 30 * secondsOf.d

/** Returns a time in seconds: `90`, `1.5`, `90s`, `30m`, `2h`, `1d`. `none` is 0. */
export function seconds(text: string): number {
  if (text === 'none') return 0
  const time = timeIn(/^[\d.]+$/.test(text) ? `${text}s` : text)
  if (time === null) throw new InvalidArgumentError('It must be a time such as 90, 30m, 2h or 1d, or none.')
  return time
}

/** Returns the seconds of a time with a unit: `90s`, `30m`, `2h`, `1.5d`. Null if it is none. */
export function timeIn(text: string): number | null {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? []
  return amount === undefined ? null : Number(amount) * secondsOf[unit as keyof typeof secondsOf]
}

/**
 * Parses the lifetime of a runtime in whole seconds, 1 s to 30 days. `none` or `0` means no end.
 */
export function durationSecs(text: string): number | 'none' {
  if (text === 'none' || text === '0') return 'none'
  const duration = Math.ceil(seconds(text))
  if (duration < 1 || duration > longestSecs) throw new InvalidArgumentError('It must be 1 second to 30 days, or none.')
  return duration
}

/** Parses a time in whole seconds, 1 s to 30 days. */
export function wholeSecs(text: string): number {
  const secs = durationSecs(text)
  if (secs === 'none') throw new InvalidArgumentError('It must be a time, such as 90, 30m or 2h.')
  return secs
}

/** Parses the number of children of a fork. */
export function count(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) < 1 || Number(text) > 100)
    throw new InvalidArgumentError('It must be 1 to 100.')
  return Number(text)
}

/** Parses a TCP port. */
export function port(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It must be a port, 1 to 65535.')
  return Number(text)
}

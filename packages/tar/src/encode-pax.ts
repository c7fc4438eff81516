const nanosPerSecond = 1_000_000_000

/** Encodes a record as `length key=value\n`. The length counts its own digits. */
export function paxRecord(key: string, value: Uint8Array | string): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`, 'latin1'), Buffer.from(value), Buffer.from('\n')])
  let length = rest.length + 1
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length
  return Buffer.concat([Buffer.from(String(length)), rest])
}

/**
 * Encodes a time as one signed decimal number of seconds. Before 1970 the seconds of an entry are
 * rounded down, and its nanoseconds count up.
 */
export function paxTime(secs: number, nanos: number): string {
  const isBefore = secs < 0
  const size =
    isBefore && nanos > 0 ? { secs: -secs - 1, nanos: nanosPerSecond - nanos } : { secs: Math.abs(secs), nanos }
  const fraction = String(size.nanos).padStart(9, '0').replace(/0+$/, '')
  return `${isBefore ? '-' : ''}${size.secs}${fraction === '' ? '' : `.${fraction}`}`
}

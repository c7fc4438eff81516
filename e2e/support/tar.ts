const BLOCK_BYTES = 512

/** A tar entry as a hostile sender would write it: nothing is checked. */
export interface RawEntry {
  readonly name: string
  readonly type?: string
  readonly link?: string
  readonly content?: string
  readonly mode?: number
  /** The size in the header. Default: that of the content. */
  readonly sizeBytes?: number
}

/** Writes entries as ustar, and the two blocks at its end. */
export function rawTar(...entries: readonly RawEntry[]): Buffer {
  return Buffer.concat([...entries.map(rawEntry), Buffer.alloc(2 * BLOCK_BYTES)])
}

/** One entry, without an end. */
export function rawEntry({ name, type = '0', link = '', content = '', mode = 0o644, sizeBytes }: RawEntry): Buffer {
  const bytes = Buffer.from(content)
  const header = Buffer.alloc(BLOCK_BYTES)
  header.write(name, 0, 'latin1')
  header.write(`${mode.toString(8).padStart(7, '0')}\0${'0'.repeat(7)}\0${'0'.repeat(7)}\0`, 100)
  header.write(`${(sizeBytes ?? bytes.length).toString(8).padStart(11, '0')}\0${'0'.repeat(11)}\0        `, 124)
  header.write(type, 156)
  header.write(link, 157)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, bytes, Buffer.alloc((BLOCK_BYTES - (bytes.length % BLOCK_BYTES)) % BLOCK_BYTES)])
}

/** An extended header with records for the entry that follows. */
export function paxRecords(records: Readonly<Record<string, string>>): Buffer {
  const content = Object.entries(records)
    .map(([name, value]) => {
      const rest = ` ${name}=${value}\n`
      let length = rest.length + 1
      while (String(length).length + rest.length !== length) length = String(length).length + rest.length
      return `${length}${rest}`
    })
    .join('')
  return rawEntry({ name: 'pax', type: 'x', content })
}

import fc from 'fast-check'

const block = 512

/** A member of an archive that may lie about itself. */
interface HostileMember {
  readonly type: string
  readonly name: string
  readonly target: string
  readonly content: number
  /** The size in the header; null for the true size. */
  readonly size: string | null
  /**
   * The header before the member with a longer name, another size, or a sparse map; null for none.
   */
  readonly before: { readonly type: string; readonly text: string } | null
  readonly checksum: 'right' | 'wrong' | 'signed'
}

/**
 * Names that lead out, name one place twice, name the root, lead through links, or lead nowhere.
 */
const names = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'b', 'd', 'd/a', 'd/d/a', 'l', 'l/a', './a', 'a/a', 'd//a') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('../a', 'd/../a', 'd/../../a', '/a', '//a', '.', '..', '', 'a\0b', '\xff', '\\..\\a'),
  },
  { weight: 1, arbitrary: fc.integer({ min: 90, max: 100 }).map((length) => 'n'.repeat(length)) },
)

const octal = (value: number) => `${value.toString(8).padStart(11, '0')}\0`

/** Sizes that are too large for files or numbers, and texts that are no numbers. */
const sizes = fc.constantFrom(
  octal(0),
  octal(1),
  octal(511),
  octal(512),
  octal(513),
  octal(8 * 2 ** 30 - 1),
  `\x80${'\0'.repeat(3)}${'\xff'.repeat(8)}`,
  '\xff'.repeat(12),
  `\x80${'\0'.repeat(10)}\x05`,
  '           5',
  '-0000000005\0',
  '0000000009\0',
  '\0'.repeat(12),
)

/** Without empty values, which revoke a record (POSIX.1-2024, pax): Python takes them as values. */
const paxRecords = fc.oneof(
  fc.constantFrom('path', 'linkpath').chain((key) => names.map((name) => pax([[key, name === '' ? 'e' : name]]))),
  fc.constantFrom('0', '3', '600', '9007199254740993', '-1', '1e3', ' 5').map((size) => pax([['size', size]])),
  fc.constantFrom('path=a\n', '9 path=a\n', '0 path=a\n', '10 path=a', '999999999 path=a\n', '9 path\na\n'),
  fc
    .tuple(
      fc.constantFrom('5', '9000', '-1', '9007199254740991'),
      fc.constantFrom('0,5', '5,0', '0,2,4,2', '4,2,0,2', '0', '-1,5', '0,99999999999999', ''),
    )
    .map(([size, map]) =>
      pax([
        ['GNU.sparse.size', size],
        ['GNU.sparse.map', map],
        ['GNU.sparse.name', 'sparse'],
      ]),
    ),
)

const before = fc.oneof(
  paxRecords.map((text) => ({ type: 'x', text })),
  names.map((name) => ({ type: 'L', text: `${name}\0` })),
  fc.constant({ type: 'L', text: `${'d/'.repeat(3000)}a\0` }),
)

const member: fc.Arbitrary<HostileMember> = fc.record({
  type: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom('0', '0', '0', '5', '2', '1') },
    { weight: 1, arbitrary: fc.constantFrom('\0', '3', '4', '6', '7', 'S', 'Z') },
  ),
  name: names,
  target: fc.constantFrom('a', 'b', 'd', '..', '../../a', '/etc/passwd', 'l', '', 'x'.repeat(100)),
  content: fc.constantFrom(0, 1, 5, 511, 512, 513),
  size: fc.oneof({ weight: 8, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: sizes }),
  before: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: before }),
  checksum: fc.oneof(
    { weight: 20, arbitrary: fc.constant('right' as const) },
    { weight: 1, arbitrary: fc.constantFrom('wrong' as const, 'signed' as const) },
  ),
})

/**
 * Archives with false sizes, names, links, sparse maps and checksums, and with members after their
 * end.
 */
export const hostileTar: fc.Arbitrary<Buffer> = fc
  .record({
    members: fc.array(member, { minLength: 1, maxLength: 6 }),
    end: fc.oneof(
      { weight: 6, arbitrary: fc.constant(2 * block) },
      { weight: 1, arbitrary: fc.constantFrom(0, block, 5) },
    ),
    behind: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: member }),
  })
  .map(({ members, end, behind }) =>
    Buffer.concat([...members.map(encode), Buffer.alloc(end), ...(behind === null ? [] : [encode(behind)])]),
  )

function encode({ type, name, target, content, size, before, checksum }: HostileMember): Buffer {
  const hasContent = ['0', '\0', '7', 'S'].includes(type)
  const body = Buffer.alloc(hasContent ? content : 0, 'c')
  const extended =
    before === null ? [] : [header({ type: before.type, name: 'x' }, before.text.length), padded(before.text)]
  const own = header({ type, name, target, size, checksum }, body.length)
  return Buffer.concat([...extended, own, padded(body.toString('latin1'))])
}

function header(
  { type, name, target = '', size = null, checksum = 'right' }: Partial<HostileMember> & { type: string; name: string },
  length: number,
): Buffer {
  const bytes = Buffer.alloc(block)
  bytes.write(name.slice(0, 100), 0, 'latin1')
  bytes.write(`0000644\0${'0000000\0'.repeat(2)}`, 100)
  bytes.write(size ?? octal(length), 124, 'latin1')
  bytes.write(`${octal(0)}        ${type}`, 136, 'latin1')
  bytes.write(target.slice(0, 100), 157, 'latin1')
  bytes.write('ustar\x0000', 257, 'latin1')
  const sum = bytes.reduce((total, byte) => total + (checksum === 'signed' && byte > 127 ? byte - 256 : byte), 0)
  const told = checksum === 'wrong' ? sum + 1 : sum
  bytes.write(`${told.toString(8).padStart(6, '0')}\0 `, 148)
  return bytes
}

function padded(text: string): Buffer {
  const bytes = Buffer.alloc(Math.ceil(text.length / block) * block)
  bytes.write(text, 'latin1')
  return bytes
}

function pax(records: readonly (readonly [key: string, value: string])[]): string {
  return records
    .map(([key, value]) => {
      const rest = ` ${key}=${value}\n`
      const digits = String(rest.length + String(rest.length + 2).length).length
      return `${rest.length + digits}${rest}`
    })
    .join('')
}

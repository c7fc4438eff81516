import { type Address, addressOf, contains, type Network, parseAddress, parseNetwork } from './parse-address.ts'

/** A special range, and the position of an IPv4 address in its addresses. */
interface SpecialRange {
  readonly network: Network
  readonly kind: string
  /** IPv4 addresses that an address of this range stands for. */
  readonly embedded: readonly ((bytes: Uint8Array) => Uint8Array)[]
}

type Extract = (bytes: Uint8Array) => Uint8Array
const at =
  (offset: number): Extract =>
  (bytes) =>
    bytes.slice(offset, offset + 4)
/** Extracts the address of a /48 prefix, which is around byte 8 (RFC 6052, 2.2). */
const around8: Extract = (bytes) => Uint8Array.of(bytes[6] ?? 0, bytes[7] ?? 0, bytes[9] ?? 0, bytes[10] ?? 0)
/** Extracts the client's address, which is stored inverted (RFC 4380, 4). */
const inverted: Extract = (bytes) => bytes.slice(12).map((byte) => byte ^ 0xff)

const range = (cidr: string, kind: string, ...embedded: Extract[]): SpecialRange => {
  const network = parseNetwork(cidr)
  if (network === null) throw new Error(`not a network: ${cidr}`)
  return { network, kind, embedded }
}

/**
 * The ranges that are not public: the IANA special-purpose registries (RFC 6890 and its updates),
 * multicast, and the ranges that carry an IPv4 address. Of IPv6, only 2000::/3 is allocated for the
 * public Internet (RFC 4291, 2.4), so all the rest is refused. The first match counts, so a part is
 * listed before its whole.
 */
const specialRanges: readonly SpecialRange[] = [
  range('0.0.0.0/8', 'this network'),
  range('10.0.0.0/8', 'private'),
  range('100.64.0.0/10', 'shared by carriers'),
  range('127.0.0.0/8', 'loopback'),
  range('169.254.0.0/16', 'link-local'),
  range('172.16.0.0/12', 'private'),
  range('192.0.0.0/24', 'protocol assignments'),
  range('192.0.2.0/24', 'documentation'),
  range('192.88.99.0/24', '6to4 relay'),
  range('192.168.0.0/16', 'private'),
  range('198.18.0.0/15', 'benchmarks, and synthetic addresses'),
  range('198.51.100.0/24', 'documentation'),
  range('203.0.113.0/24', 'documentation'),
  range('224.0.0.0/4', 'multicast'),
  range('240.0.0.0/4', 'reserved, and broadcast'),
  range('::/128', 'unspecified'),
  range('::1/128', 'loopback'),
  range('::/96', 'IPv4-compatible', at(12)),
  range('::ffff:0:0/96', 'IPv4-mapped', at(12)),
  range('::ffff:0:0:0/96', 'IPv4-translated', at(12)),
  range('64:ff9b::/96', 'NAT64', at(12)),
  range('64:ff9b:1::/48', 'NAT64', around8, at(12)),
  range('100::/64', 'discard'),
  range('2001::/32', 'Teredo', at(4), inverted),
  range('2001:2::/48', 'benchmarks'),
  range('2001:10::/28', 'ORCHID'),
  range('2001:20::/28', 'ORCHIDv2'),
  range('2001::/23', 'protocol assignments'),
  range('2001:db8::/32', 'documentation'),
  range('2002::/16', '6to4', at(2)),
  range('3fff::/20', 'documentation'),
  range('5f00::/16', 'segment routing'),
  range('fc00::/7', 'unique local'),
  range('fe80::/10', 'link-local'),
  range('fec0::/10', 'site-local'),
  range('ff00::/8', 'multicast'),
]

const globalUnicast = range('2000::/3', 'global unicast').network

/** Addresses at which clouds give credentials and configuration to any process on the machine. */
const metadataAddresses: ReadonlySet<string> = new Set(
  [
    '169.254.169.254', // most clouds
    '169.254.169.253', // AWS: resolver
    '169.254.169.249', // AWS: further services
    '169.254.169.123', // AWS: clock
    '169.254.170.2', // AWS: credentials of containers
    '169.254.170.23', // AWS: credentials of pods
    '169.254.0.23', // Tencent
    '169.254.42.42', // Scaleway
    '168.63.129.16', // Azure: a public address that only answers inside
    '100.100.100.200', // Alibaba
    '192.0.0.192', // Oracle
    'fd00:ec2::254', // AWS
    'fd00:ec2::253', // AWS: resolver
    'fd00:ec2::123', // AWS: clock
    'fd00:ec2::23', // AWS: credentials of pods
    'fd20:ce::254', // Google
    'fd00:42::42', // Scaleway
    'fe80::a9fe:a9fe', // OpenStack
  ].map((text) => parseAddress(text)?.text ?? text),
)

/** Returns the reason why an address is not public, or null if it is public. */
export function nonPublicKind(address: Address): string | null {
  if (metadataAddresses.has(address.text)) return 'cloud metadata'
  const special = specialRanges.find(({ network }) => contains(network, address))
  if (special !== undefined) return special.kind
  if (address.family === 6 && !contains(globalUnicast, address)) return 'reserved'
  return isIsatap(address) ? 'ISATAP' : null
}

/**
 * Returns true if the gateway may dial the address: it is public, or the operator listed it. A
 * metadata address has to be listed by itself. An address that carries an IPv4 address is allowed
 * only if that one is.
 */
export function mayDial(address: Address, allowed: readonly Network[]): boolean {
  const kind = nonPublicKind(address)
  if (kind === null) return true
  const listed = allowed.filter((network) => contains(network, address))
  if (listed.length === 0) return false
  const exact = listed.some((network) => network.length === network.bytes.length * 8)
  if (kind === 'cloud metadata' && !exact) return false
  return embeddedAddresses(address).every((embedded) => mayDial(embedded, allowed))
}

/** Returns the IPv4 addresses that an IPv6 address stands for. */
export function embeddedAddresses(address: Address): readonly Address[] {
  if (address.family === 4) return []
  const special = specialRanges.find(({ network }) => contains(network, address))
  const extracts = [...(special?.embedded ?? []), ...(isIsatap(address) ? [at(12)] : [])]
  return extracts.map((extract) => addressOf(extract(address.bytes)))
}

/** Returns true for an interface identifier that ends in an IPv4 address (RFC 5214, 6.1). */
function isIsatap({ family, bytes }: Address): boolean {
  return family === 6 && ((bytes[8] ?? 0) & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe
}

import { isIPv6 } from 'node:net'

/**
 * Returns a name for the host of an address, as far as the address tells. An IPv6 network of 64
 * bits belongs to one host (RFC 6177). An IPv4 address in IPv6 counts as the IPv4 address.
 */
export function peerName(address: string | undefined): string {
  if (address === undefined) return 'unknown'
  const mapped = /^::ffff:(\d+(?:\.\d+){3})$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  return isIPv6(address) ? networkOf(address) : address
}

function networkOf(address: string): string {
  const [bare = ''] = address.split('%', 1)
  const [head = '', tail = ''] = bare.split('::', 2)
  const first = head === '' ? [] : head.split(':')
  const last = tail === '' ? [] : tail.split(':')
  const zeros = bare.includes('::')
    ? Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
    : []
  const groups = [...first, ...zeros, ...last].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${groups.join(':')}::/64`
}

/** Whom an address counts for: an IPv4 address is one peer, of IPv6 the 64 bits that one host or household has. */
export function peerOf(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address
  const [head = '', tail] = address.split('::')
  const [before, after] = [groupsOf(head), groupsOf(tail ?? '')]
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0')
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}

function groupsOf(text: string): readonly string[] {
  return text === '' ? [] : text.split(':')
}

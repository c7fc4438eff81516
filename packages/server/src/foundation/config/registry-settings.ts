import { isIP } from 'node:net'
import type { RegistryMirror, RegistrySettings } from '@holt/builder'
import { isHostName } from '@holt/protocol'
import { list } from './list-setting.ts'

/**
 * The mirrors, which are asked in this order before the registry itself:
 * `docker.io=https://mirror.example.com,docker.io=http://127.0.0.1:5000/prefix`.
 */
export const RegistryMirrors = list(
  parseMirror,
  'must be REGISTRY=ADDRESS such as docker.io=https://mirror.example.com, separated by commas',
)

/** The registries without TLS, whatever their address: `registry.lan:5000,127.0.0.1:*`. */
export const InsecureRegistries = list(
  parseInsecure,
  'must be HOST:PORT or HOST:* such as registry.lan:5000, separated by commas',
)

/** The registries that images come from. */
export type RegistryConfig = RegistrySettings

function parseMirror(text: string): RegistryMirror | null {
  const at = text.indexOf('=')
  const [registry, address] = [text.slice(0, at).toLowerCase(), text.slice(at + 1)]
  if (at < 1 || !isRegistry(registry) || !URL.canParse(address)) return null
  const url = new URL(address)
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '' || url.search + url.hash !== '')
    return null
  return { registry, url: `${url.origin}${url.pathname.replace(/\/+$/, '')}` }
}

function parseInsecure(given: string): string | null {
  const text = given.toLowerCase()
  const host = /^(.+):(?:\*|\d{1,5})$/.exec(text)?.[1]
  return host !== undefined && isRegistry(host) && isRegistry(text.replace(/:\*$/, '')) ? text : null
}

/** A name of one part, which only has a meaning on this machine: `localhost`. */
const ownName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Returns true for a host with or without a port: `docker.io`, `registry.lan:5000`,
 * `[fd00::1]:5000`.
 */
function isRegistry(text: string): boolean {
  const [, six, plain, port = '1'] = /^(?:\[([0-9a-f:.]+)\]|([^[\]:]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const isName = plain !== undefined && (isHostName(plain) || isIP(plain) === 4 || ownName.test(plain))
  const isHost = six !== undefined ? isIP(six) === 6 : isName
  return isHost && Number(port) >= 1 && Number(port) <= 65_535
}

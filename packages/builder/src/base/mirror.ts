import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The package archives. If null, mmdebstrap chooses them. */
export interface Mirrors {
  readonly main: string | null
  readonly security: string | null
}

interface AptSource {
  readonly uri: string
  readonly suite: string
}

/** Reads sources.list lines and deb822 stanzas, the two forms of sources.list(5). */
export function parseAptSources(text: string): readonly AptSource[] {
  return [...oneLineSources(text), ...stanzaSources(text)]
}

function oneLineSources(text: string): AptSource[] {
  return [...text.matchAll(/^deb[ \t]+(?:\[[^\]]*\][ \t]+)?(\S+)[ \t]+(\S+)/gm)].map(([, uri = '', suite = '']) => ({
    uri,
    suite,
  }))
}

function stanzaSources(text: string): AptSource[] {
  const uncommented = text.replaceAll(/^#.*\n?/gm, '')
  return uncommented.split(/\n\s*\n/).flatMap((stanza) => {
    const fields = new Map(
      [...stanza.matchAll(/^([A-Za-z-]+):[ \t]*(.*)$/gm)].map(([, k = '', v = '']) => [k.toLowerCase(), v]),
    )
    if (!words(fields.get('types')).includes('deb') || fields.get('enabled')?.trim() === 'no') return []
    return words(fields.get('uris')).flatMap((uri) => words(fields.get('suites')).map((suite) => ({ uri, suite })))
  })
}

function words(value: string | undefined): string[] {
  return value?.split(/\s+/).filter((word) => word !== '') ?? []
}

/**
 * Returns the archives that the host itself uses, so that a local mirror is used here too. Only
 * Debian's own suites count.
 */
function chooseMirrors(sources: readonly AptSource[], codename: string): Mirrors {
  const usable = sources.filter(({ uri }) => /^(https?|file):\/\//.test(uri) || uri.startsWith('copy:'))
  return {
    main: usable.find(({ suite }) => suite === codename)?.uri ?? null,
    security: usable.find(({ suite }) => suite === `${codename}-security`)?.uri ?? null,
  }
}

/** Reads the mirrors from the environment, or else from a Debian host's apt sources. */
export async function hostMirrors(env: NodeJS.ProcessEnv, root = '/'): Promise<Mirrors> {
  if (env.HOLT_DEBIAN_MIRROR) {
    return { main: env.HOLT_DEBIAN_MIRROR, security: env.HOLT_DEBIAN_SECURITY_MIRROR ?? null }
  }
  const release = await readIfThere(join(root, 'etc/os-release'))
  const codename = /^VERSION_CODENAME="?([a-z]+)"?$/m.exec(release)?.[1]
  if (!/^ID="?debian"?$/m.test(release) || codename === undefined) return { main: null, security: null }
  const folder = join(root, 'etc/apt/sources.list.d')
  const names = await readdir(folder).catch(() => [])
  const files = [
    join(root, 'etc/apt/sources.list'),
    ...names.filter((name) => /\.(list|sources)$/.test(name)).map((name) => join(folder, name)),
  ]
  const sources = await Promise.all(files.map(async (file) => parseAptSources(await readIfThere(file))))
  return chooseMirrors(sources.flat(), codename)
}

/**
 * The keyring of Debian. Each line names it, so that a host with other keys (Ubuntu) trusts
 * Debian's keys for these lines only.
 */
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** Returns the lines for mmdebstrap, or none if it should use its own default. */
export function sourceLines(
  { main, security }: Mirrors,
  suite: string,
  components: readonly string[],
): readonly string[] {
  if (main === null) return []
  const tail = components.join(' ')
  const line = (uri: string, name: string) => `deb [signed-by=${KEYRING}] ${uri} ${name} ${tail}`
  const lines = [line(main, suite), line(main, `${suite}-updates`)]
  return security === null ? lines : [...lines, line(security, `${suite}-security`)]
}

async function readIfThere(path: string): Promise<string> {
  // A missing or unreadable file has no sources.
  return readFile(path, 'utf8').catch(() => '')
}

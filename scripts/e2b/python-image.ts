import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installOnce } from '@holt/testkit'
import { hostMirrors, sourceLines } from '../../packages/builder/src/base/mirror.ts'
import { writeLayout } from '../../packages/builder/test/support/oci-image.ts'

const run = promisify(execFile)
const kept = new URL('../../.holt/test-images', import.meta.url).pathname

/** The time for some hundred packages, in milliseconds. */
const makeMs = 10 * 60_000
const pushMs = 2 * 60_000

const suite = 'trixie'

/** As in the image of that name: Python and certificates, and neither curl nor sudo. */
const packages = ['ca-certificates', 'python3', 'python3-pip']

/**
 * Pushes the image `python:3.12-slim` to a registry that stands for docker.io. The image is made
 * once, from Debian packages with Debian's own Python: the machine may reach no registry.
 */
export async function pushPythonImage(address: string): Promise<void> {
  const digest = createHash('sha256')
    .update(JSON.stringify([suite, packages]))
    .digest('hex')
    .slice(0, 12)
  const layout = await installOnce(join(kept, `python-${digest}`), makeImage)
  const target = `docker://${address}/library/python:3.12-slim`
  const options = ['--insecure-policy', 'copy', '--quiet', '--dest-tls-verify=false']
  await run('skopeo', [...options, `oci:${layout}`, target], { timeout: pushMs })
}

async function makeImage(dir: string): Promise<void> {
  const file = join(dir, 'tree.tar')
  const sources = sourceLines(await hostMirrors(process.env), suite, ['main'])
  const options = ['--mode=root', '--variant=minbase', '--skip=output/dev', `--include=${packages.join(',')}`]
  await run('mmdebstrap', [...options, suite, file, ...sources], {
    timeout: makeMs,
    maxBuffer: 64 * 2 ** 20,
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8' },
  })
  const tar = await readFile(file)
  await rm(file)
  await writeLayout(dir, [{ tar, compression: 'gzip' }], {
    config: { Env: ['PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin'], Cmd: ['python3'] },
  })
}

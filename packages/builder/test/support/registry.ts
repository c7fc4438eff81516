import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@holt/testkit'

/** A registry on loopback that lives as long as its owner. */
export interface Registry extends AsyncDisposable {
  readonly address: string
  /** The directory of its files. */
  readonly dir: string
}

/**
 * The account of a registry with a login: `holt` with the password `open sesame`. The hash is
 * bcrypt, the only kind that it knows.
 */
export const reader = { username: 'holt', password: 'open sesame' }
const hash = '$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy'

/** The password of `_json_key`, the account in which Google's registries take a key as JSON. */
export const googleKey = '{"type":"service_account"}'
const googleHash = '$2y$04$abcdefghijklmnopqrstuuDt9JS4PYLFE1243a4ylPkU5J7EJhfP.'
const htpasswd = `holt:${hash}\n_json_key:${googleHash}\n`

/**
 * Starts the distribution's own registry, on a free port unless told which; `asks` whoever comes
 * for a name and a password.
 */
export async function startRegistry(port?: number, options: { readonly asks?: boolean } = {}): Promise<Registry> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-registry-'))
  const address = `127.0.0.1:${port ?? (await freePort())}`
  const config = `version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: ${dir}/data}}
http: {addr: '${address}'}
${options.asks === true ? `auth: {htpasswd: {realm: tests, path: ${dir}/htpasswd}}` : ''}
`
  await writeFile(join(dir, 'htpasswd'), htpasswd)
  await writeFile(join(dir, 'config.yml'), config)
  const child = spawn('docker-registry', ['serve', join(dir, 'config.yml')], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  const stop = async () => {
    child.kill()
    await exited
    await rm(dir, { recursive: true })
  }
  const deadline = Date.now() + 20_000
  while (!(await answers(address))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop()
      throw new Error('the registry does not start')
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return { address, dir, [Symbol.asyncDispose]: stop }
}

async function answers(address: string): Promise<boolean> {
  return fetch(`http://${address}/v2/`).then(
    ({ status }) => status === 200 || status === 401,
    () => false,
  )
}

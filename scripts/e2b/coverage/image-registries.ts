import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pushSmallImage } from '../../../e2e/support/small-image.ts'
import { reader, startRegistry } from '../../../packages/builder/test/support/registry.ts'

/** The images that the builders of templates name, each with the tag that the programs ask for. */
const names = ['debian', 'ubuntu', 'fedora', 'alpine', 'archlinux', 'python', 'node']
const tag = 'coverage'

/** Registries on loopback that live as long as their owner. */
export interface ImageRegistries extends AsyncDisposable {
  /** The address of the mirror of Docker's registry. */
  readonly mirror: string
  /** The name of an image for which its registry wants a login. */
  readonly privateImage: string
}

/** Starts a mirror with a small image under each name, and a registry that wants a login. */
export async function startImageRegistries(): Promise<ImageRegistries> {
  await using started = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'holt-coverage-'))
  started.defer(() => rm(dir, { recursive: true, force: true }))
  const mirror = started.use(await startRegistry())
  const asking = started.use(await startRegistry(undefined, { asks: true }))
  const privateImage = `${asking.address}/private/image:${tag}`
  for (const name of [...names.map((one) => `library/${one}`), 'oven/bun'])
    await pushSmallImage(join(dir, name), [`${mirror.address}/${name}:${tag}`], { Env: [`FROM_IMAGE=${name}`] })
  const creds = `${reader.username}:${reader.password}`
  await pushSmallImage(join(dir, 'private'), [privateImage], { Env: ['FROM_IMAGE=private'] }, { creds })
  const running = started.move()
  return { mirror: mirror.address, privateImage, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

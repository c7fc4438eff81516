import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { keepPlacesOfSources } from '../../../scripts/bundle/places-of-sources.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'holt-places-'))
})
afterEach(() => rm(root, { recursive: true }))

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
}

/** Bundles packages/a/src/main.ts and runs it. `released` has the places of files in a release. */
async function bundleAndRun(released?: Readonly<Record<string, string>>): Promise<string> {
  const outDir = join(root, 'out', 'one')
  const programs = { 'packages/a/src/main.ts': 'main.mjs' }
  const plugins = [keepPlacesOfSources({ root, outDir, programs, released })]
  await using bundle = await rolldown({
    cwd: root,
    input: join(root, 'packages/a/src/main.ts'),
    platform: 'node',
    plugins,
  })
  await bundle.write({ dir: outDir, entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' })
  await rm(join(root, 'packages/a/src'), { recursive: true })
  return (await promisify(execFile)(process.execPath, [join(outDir, 'main.mjs')], { cwd: '/' })).stdout
}

test('a worker and a child process are programs of the bundle with all their imports', async () => {
  await put(
    'packages/a/src/deep/read.ts',
    `import { word } from '../word.ts'; import { parentPort } from 'node:worker_threads'; const it: string = word; parentPort?.postMessage(it)`,
  )
  await put('packages/a/src/word.ts', `export const word: string = 'worked'`)
  await put('packages/a/src/child.ts', `import { word } from './word.ts'; console.log('child', word)`)
  await put(
    'packages/a/src/main.ts',
    `import { execFileSync } from 'node:child_process'
     import { fileURLToPath } from 'node:url'
     import { Worker } from 'node:worker_threads'
     const worker = new Worker(new URL('./deep/read.ts', import.meta.url))
     worker.on('message', (word: string) => {
       const child = fileURLToPath(new URL(
         './child.ts', import.meta.url))
       console.log('worker', word, execFileSync(process.execPath, [child]).toString().trim())
     })`,
  )
  expect(await bundleAndRun()).toBe('worker worked child worked\n')
})

test('data is found beside the sources', async () => {
  await put('packages/a/data.txt', 'data of a')
  await put('templates/t.txt', 'a template')
  await put('packages/a/src/main.ts', `await import('./later/read.ts')`)
  await put(
    'packages/a/src/later/read.ts',
    `import { readFileSync } from 'node:fs'
     const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
     console.log(read('../../data.txt'), read('../../../../templates/t.txt'))`,
  )
  expect(await bundleAndRun()).toBe('data of a a template\n')
})

test('a missing program fails the bundling', async () => {
  await put('packages/a/src/main.ts', `console.log(new URL('./gone.ts', import.meta.url))`)
  await expect(bundleAndRun()).rejects.toThrow('packages/a/src/main.ts names ./gone.ts, which is not there')
})

const readsTemplate = `import { readFileSync } from 'node:fs'
  console.log(readFileSync(new URL('../../../templates/t/one.txt', import.meta.url), 'utf8'))`

test('a bundle of a release finds its files', async () => {
  await put('share/t/one.txt', 'a template')
  await put('packages/a/src/main.ts', readsTemplate)
  expect(await bundleAndRun({ templates: '../../share' })).toBe('a template\n')
})

test('a file that is missing in a release fails the bundling', async () => {
  await put('packages/a/src/main.ts', readsTemplate)
  await expect(bundleAndRun({ guest: '../guest' })).rejects.toThrow(
    'packages/a/src/main.ts names templates/t/one.txt, which is not in the release',
  )
})

test('a source that computes a path from its own location fails the bundling of a release', async () => {
  await put('packages/a/src/main.ts', `const path = './x'; console.log(new URL(path, import.meta.url))`)
  await expect(bundleAndRun({})).rejects.toThrow('packages/a/src/main.ts needs a place that the release lacks')
})

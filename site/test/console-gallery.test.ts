import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { withGallery } from '../console-gallery.ts'

const page = 'Before.\n\n<!-- the pictures of the console -->\n\nAfter.'

test('the pictures of the console stand at their mark, and nothing does without pictures', async () => {
  const root = await mkdtemp(join(tmpdir(), 'holt-gallery-'))
  onTestFinished(() => rm(root, { recursive: true }))
  const files = new Map<string, string | Buffer>()
  expect(await withGallery('Another page.', root, files)).toBe('Another page.')
  expect(await withGallery(page, root, files)).toBe('Before.\n\n\n\nAfter.')
  const dir = join(root, '.holt/console-pictures')
  await mkdir(dir, { recursive: true })
  await writeFile(join(dir, 'pictures.json'), JSON.stringify([{ name: 'keys', title: 'Keys' }]))
  for (const theme of ['light', 'dark']) await writeFile(join(dir, `keys-${theme}.png`), theme)
  expect(await withGallery(page, root, files)).toContain(
    '### Keys\n\n![Keys in the light theme](./pictures/console-keys-light.png)\n\n![Keys in the dark theme]',
  )
  expect(files.get('pictures/console-keys-dark.png')?.toString()).toBe('dark')
})

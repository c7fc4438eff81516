import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { copyPrograms } from './support/copy-programs.ts'
import { runCommand, timeout, VERB_TIMEOUT_MS, withRuntime } from './support/engine-under-test.ts'
import { missing } from './support/test-machine.ts'

const reason = await missing('root', 'go', 'runsc', 'runc')

test.skipIf(reason !== null).each(['gvisor', 'container'] as const)(
  `a name that a file of the image had is free when the file is removed, in %s (${reason ?? 'ready'})`,
  { timeout: VERB_TIMEOUT_MS },
  (isolation) =>
    withRuntime(
      isolation,
      async ({ guest }) => {
        const shell = (script: string) => runCommand(guest, '/bin/sh', '-c', script)
        expect(await shell('rm /one /two; echo new > /new; echo other > /other')).toMatchObject({ exitCode: 0 })
        const move = { source: '/new', destination: '/one', overwrite: false }
        await guest.files.move(move, timeout())
        expect(await runCommand(guest, 'cat', '/one')).toMatchObject({ output: 'new\n' })
        const again = guest.files.move({ ...move, source: '/other' }, timeout())
        await expect(again).rejects.toMatchObject({ code: 'already_exists' })
        await shell('mv -n /other /two')
        expect(await runCommand(guest, 'cat', '/two')).toMatchObject({ output: 'other\n' })
      },
      async (tree) => {
        await copyPrograms(tree, 'sh', 'rm', 'mv')
        await Promise.all(['one', 'two'].map((name) => writeFile(join(tree, name), 'of the image')))
      },
    ),
)

test.skipIf(reason !== null).each(['gvisor', 'container'] as const)(
  `a hard link leaves the file its owner and its set-id bits, in %s (${reason ?? 'ready'})`,
  { timeout: VERB_TIMEOUT_MS },
  (isolation) =>
    withRuntime(
      isolation,
      async ({ guest }) => {
        const script = `
echo file > /file && chown 1000:1000 /file && chmod 6750 /file && ln /file /linked
ln -P /symbolic /second; stat -c '%u:%g %a %h' /file`
        await runCommand(guest, '/bin/sh', '-c', 'ln -s /file /symbolic && chown -h 1000 /symbolic')
        expect(await runCommand(guest, '/bin/sh', '-c', script)).toMatchObject({ output: '1000:1000 6750 2\n' })
        expect(await runCommand(guest, '/bin/stat', '-c', '%u %h', '/second')).toMatchObject({ output: '1000 2\n' })
      },
      (tree) => copyPrograms(tree, 'sh', 'ln', 'chown', 'chmod', 'stat'),
    ),
)

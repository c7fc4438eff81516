import { basename, dirname } from 'node:path'
import type { ReleaseFacts } from './facts.ts'
import { run } from './run.ts'

/**
 * Packs a directory into a `.tar.gz`. Its bytes depend only on the names, contents and executable
 * bits of the files (reproducible-builds.org/docs/archives).
 */
export async function writeArchive(dir: string, target: string, { epochSecs }: ReleaseFacts): Promise<void> {
  const same = ['--format=gnu', '--sort=name', `--mtime=@${epochSecs}`, '--owner=0', '--group=0', '--numeric-owner']
  const mode = '--mode=u=rwX,go=rX'
  const compress = '--use-compress-program=gzip --no-name -6'
  await run([
    'tar',
    '--create',
    ...same,
    mode,
    compress,
    `--file=${target}`,
    `--directory=${dirname(dir)}`,
    basename(dir),
  ])
}

import fc from 'fast-check'

/** An operation on files. Paths are relative to the tree; '' is the tree itself. */
export type Operation =
  | { readonly type: 'write'; readonly path: string; readonly parts: readonly string[]; readonly how: WriteHow }
  | {
      readonly type: 'mkdir'
      readonly path: string
      readonly parents: boolean
      readonly mode: string
      readonly user: string | null
    }
  | { readonly type: 'move'; readonly source: string; readonly destination: string; readonly overwrite: boolean }
  | {
      readonly type: 'copy'
      readonly source: string
      readonly destination: string
      readonly recursive: boolean
      readonly overwrite: boolean
    }
  | { readonly type: 'remove'; readonly path: string; readonly recursive: boolean }
  | { readonly type: 'symlink'; readonly path: string; readonly target: string; readonly overwrite: boolean }
  | { readonly type: 'chmod'; readonly path: string; readonly mode: string; readonly recursive: boolean }
  | { readonly type: 'chown'; readonly path: string; readonly user: string; readonly recursive: boolean }
  | {
      readonly type: 'replace'
      readonly path: string
      readonly named: boolean
      readonly pattern: string
      readonly replacement: string
    }
  | { readonly type: 'list'; readonly path: string; readonly depth: number }
  | { readonly type: 'stat'; readonly path: string }
  | { readonly type: 'read'; readonly path: string }

/** How a file is written. */
interface WriteHow {
  readonly mode: string | null
  readonly user: string | null
  readonly createOnly: boolean
}

/** Makes what every sequence begins with, in an empty directory: some of each kind of file. */
export const seedScript = `umask 022
mkdir -p a/b; printf banana > a/f; printf x > a/b/c; ln a/f b; ln -s a c; ln -s nowhere a/dangling; mkfifo a/fifo
ln a/b/c a/b/g; chown 1000:1000 a/b a/b/c; chmod 6755 a/b/c; ln -s ../b a/b/up; mkdir .h; printf hidden > .h/a; ln -s loop loop`

const name = fc.constantFrom('a', 'b', 'c', 'f', 'd e', 'é', '.h')
const path = fc.oneof(
  { weight: 5, arbitrary: name },
  { weight: 5, arbitrary: fc.tuple(name, name).map((names) => names.join('/')) },
  { weight: 3, arbitrary: fc.tuple(name, name, name).map((names) => names.join('/')) },
  { weight: 1, arbitrary: fc.constantFrom('a/fifo', 'a/dangling', 'loop', 'loop/a', 'a/b/up', '') },
)
const content = fc.constantFrom('', 'a', 'banana', 'no match', 'x'.repeat(5000))
const mode = fc.constantFrom('0644', '0755', '0700', '0000', '4755', '2775', '6711', '1777', '0600')
const user = fc.constantFrom('root', 'user', '12:34', '77')

/** Any operation; the more it changes, the more often. */
export const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('write'),
      path,
      parts: fc.array(content, { minLength: 1, maxLength: 3 }),
      how: fc.record({
        mode: fc.option(mode, { freq: 3 }),
        user: fc.option(fc.constantFrom('root', '12:34'), { freq: 3 }),
        createOnly: fc.boolean(),
      }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('mkdir'),
      path,
      parents: fc.boolean(),
      mode,
      user: fc.option(fc.constantFrom('root', '12:34')),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('move'), source: path, destination: path, overwrite: fc.boolean() }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('copy'),
      source: path,
      destination: path,
      recursive: fc.boolean(),
      overwrite: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('remove'), path, recursive: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('symlink'),
      path,
      target: fc.constantFrom('a', 'b', 'a/b', '../a', './b', '.', 'nowhere', 'c'),
      overwrite: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('chmod'), path, mode, recursive: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('chown'), path, user, recursive: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('replace'),
      path,
      named: fc.boolean(),
      pattern: fc.constantFrom('a', 'an', 'x'),
      replacement: fc.constantFrom('', 'bb'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('list'), path, depth: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('stat'), path }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('read'), path }) },
)

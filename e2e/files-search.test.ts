import { FileChanged, FileInfo, ReplaceResult, SearchItem, SearchResult } from '@holt/protocol'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { failure, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'

describeClasses('files', (isolation) => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
  })

  const post = (route: string, json: unknown) => runtime.call('POST', `/files/${route}`, { json })
  const search = async (json: object) => success(await post('search', json), 200, SearchResult)
  const lines = ({ data }: SearchResult) =>
    data.map(({ path, line, column, text }) => `${path}:${line}:${column}:${text}`)

  describe('symlink, chmod and chown', () => {
    it('make a link, and set modes and owners without following links below', async () => {
      const link = success(await post('symlink', { path: '/srv/new/link', target: '../no where' }), 201, FileInfo)
      expect(link).toMatchObject({ type: 'symlink', symlink_target: '../no where', user: 'user' })
      failure(await post('symlink', { path: '/srv/new/link', target: 'x' }), 'already_exists')
      success(await post('symlink', { path: '/srv/new/link', target: 'x', overwrite: true }), 200, FileInfo)
      await runtime.sh(`mkdir -p /srv/t/sub /srv/out; echo x > /srv/t/sub/f; echo x > /srv/out/f; chmod 4755 /srv/t/sub/f
ln -s /srv/out /srv/t/dir; ln -s /srv/out/f /srv/t/file; mkfifo /srv/t/fifo; chmod 711 /srv/out`)
      const moded = await post('chmod', { path: '/srv/t', mode: '0700', recursive: true })
      expect(success(moded, 200, FileChanged)).toMatchObject({ changed: 4, entry: { mode: '0700' } })
      await runtime.sh('chmod 6755 /srv/t/sub/f')
      const owned = await post('chown', { path: '/srv/t', user: '12:34', recursive: true })
      expect(success(owned, 200, FileChanged)).toMatchObject({ changed: 6, entry: { uid: 12, gid: 34 } })
      expect(await runtime.sh('cd /srv; stat -c "%n %a %u:%g" t t/sub t/sub/f t/fifo out out/f')).toBe(
        't 700 12:34\nt/sub 700 12:34\nt/sub/f 755 12:34\nt/fifo 700 12:34\nout 711 0:0\nout/f 644 0:0',
      )
      expect(await runtime.sh('stat -c "%u" /srv/t/dir /srv/t/file')).toBe('12\n12')
      success(await post('chmod', { path: '/srv/t/file', mode: '640' }), 200, FileChanged)
      success(await post('chown', { path: '/srv/t/file', user: 'user' }), 200, FileChanged)
      expect(await runtime.sh('stat -c "%a %U" /srv/out/f /srv/t/file')).toBe('640 root\n777 user')
      failure(await post('chown', { path: '/srv/t', user: 'nobody-at-all' }), 'invalid_request')
      failure(await post('chmod', { path: '/srv/none', mode: '0700' }), 'path_not_found')
    })
  })

  describe('search', () => {
    beforeAll(async () => {
      await runtime.sh(`mkdir -p /srv/s/src/deep /srv/s/out /srv/s/.git; cd /srv/s
printf 'let x = 1\\nlet Needle = 2\\n' > src/one.ts; printf 'needle needle\\r\\n' > src/deep/two.ts; printf 'a \\303\\251 needle' > notes.md
echo needle > out/gone.ts; echo needle > .hidden; echo needle > .git/config; echo out/ > .gitignore; printf 'needle\\0' > binary
ln -s src/one.ts link.ts; ln -s / everything; mkfifo pipe; touch "$(printf 'odd\\377.ts')"`)
    })

    it('finds names', async () => {
      const names = async (json: object) =>
        (await search({ path: '/srv/s', ...json })).data.map(({ path, type }) => `${type} ${path.slice(7)}`)
      expect(await names({ glob: '*.ts', type: 'file' })).toEqual([
        'file odd\ufffd.ts',
        'file src/deep/two.ts',
        'file src/one.ts',
      ])
      expect(await names({ glob: ['src/**', '!**/deep'] })).toEqual(['file src/one.ts'])
      expect(await names({ max_depth: 1 })).toEqual([
        'file binary',
        'symlink everything',
        'symlink link.ts',
        'file notes.md',
        'file odd\ufffd.ts',
        'fifo pipe',
        'directory src',
      ])
      expect(await names({ glob: '{.hidden,gone.ts}', hidden: true, respect_gitignore: false })).toEqual([
        'file .hidden',
        'file out/gone.ts',
      ])
    })

    it('finds lines, opens only regular files, and reports what it skipped', async () => {
      const found = await search({ path: '/srv/s', content: { pattern: 'needle' } })
      expect(lines(found)).toEqual(['/srv/s/notes.md:1:5:a é needle', '/srv/s/src/deep/two.ts:1:1:needle needle'])
      expect(found).toMatchObject({ truncated: null, files_skipped: 1 })
      const expression = { pattern: '^let \\w+ = \\d$', regex: true }
      expect((await search({ path: '/srv/s', content: expression })).data.length).toBe(2)
      expect(
        (await search({ path: '/srv/s', content: { pattern: 'NEEDLE', case_sensitive: false }, max_results: 2 }))
          .truncated,
      ).toBe('max_results')
      failure(await post('search', { path: '/srv/s', content: { pattern: '(', regex: true } }), 'invalid_request')
      failure(await post('search', { path: '/srv/s/pipe', content: { pattern: 'x' } }), 'not_a_file')
      failure(await post('search', { path: '/srv/none' }), 'path_not_found')
    })

    it('streams on request', async () => {
      const accept = { accept: 'application/x-ndjson' }
      const json = { path: '/srv/s', content: { pattern: 'needle' } }
      const { text } = await runtime.call('POST', '/files/search', { json, headers: accept })
      const items = text
        .trim()
        .split('\n')
        .map((line) => SearchItem.parse(JSON.parse(line)))
      expect(items.map(({ type }) => type)).toEqual(['match', 'match', 'end'])
    })

    it('finds the same with ripgrep and without', async () => {
      // More files than it takes for ripgrep to be asked.
      await runtime.python(
        `import os, random, json
pick = random.Random(7); os.makedirs('/srv/many/d'); words = ['foo', 'Foo', 'b\\u00e9b\\u00e9', 'BAR', 'k', '\\u212a', ' ', '\\t', '_', '1', '.', '\\n', '\\r\\n', '\\r', 'x' * 50]
for n in range(120):
    text = ''.join(pick.choice(words) for _ in range(60)).encode()
    if n % 10 == 0: text += b'caf\\xe9 \\xff\\n'
    if n % 17 == 0: text += b'\\x00'
    open('/srv/many/%s%03d' % ('d/' if n % 3 else '', n), 'wb').write(text)
print(json.dumps(None))`,
      )
      const rg = await runtime.sh('command -v rg')
      const part = fc.constantFrom(
        'foo',
        'FOO',
        'é',
        'k',
        '.',
        '\\w',
        '\\W',
        '\\d',
        '\\s',
        '\\S',
        '\\b',
        '\\B',
        '^',
        '$',
        '[^a]',
        '[a-z]',
        '(?i:f)',
        '\\x{212a}',
        '\\r',
        ' ',
        '\\pL',
        '[[:upper:]]',
      )
      const expression = fc
        .array(fc.tuple(part, fc.constantFrom('', '', '', '*', '+', '?', '{2}', '|')), { minLength: 1, maxLength: 5 })
        .map((parts) =>
          parts
            .map(([text, times]) => (/^(?:\^|\$|\\[bB])$/.test(text) && times !== '|' ? text : text + times))
            .join(''),
        )
      const patterns = fc.sample(
        fc.record({ pattern: expression, regex: fc.constant(true), case_sensitive: fc.boolean() }),
        { seed: 20260101, numRuns: 25 },
      )
      const contents = [
        ...patterns,
        { pattern: 'foo', case_sensitive: true },
        { pattern: 'foo k', case_sensitive: false },
        { pattern: '-e', case_sensitive: true },
      ]
      const all = async () => {
        const found: unknown[] = []
        for (const content of contents) {
          const answer = await post('search', { path: '/srv/many', content, max_results: 10_000 })
          found.push([content, answer.status, answer.status === 200 ? lines(success(answer, 200, SearchResult)) : null])
        }
        return found
      }
      const withIt = await all()
      await runtime.sh(`cp ${rg} /srv/rg; rm ${rg}`)
      const without = await all()
      await runtime.sh(`cp /srv/rg ${rg}`)
      for (const [index, found] of without.entries()) expect(withIt[index]).toEqual(found)
      expect(without.filter((found) => JSON.stringify(found).includes('/srv/many')).length).toBeGreaterThan(10)
    })

    it('ignores a ripgrep that behaves differently', async () => {
      const rg = await runtime.sh('command -v rg')
      const honest = lines(await search({ path: '/srv/many', content: { pattern: 'foo' } }))
      expect(honest.length).toBeGreaterThan(10)
      await runtime.sh(`cp ${rg} /srv/rg`)
      for (const script of ['kill -9 $$', 'exit 2', 'cat /dev/zero', 'printf "/etc/passwd\\0"; exit 2']) {
        await runtime.sh(`printf '#!/bin/sh\\n%s\\n' '${script}' > ${rg}; chmod 755 ${rg}`)
        expect(lines(await search({ path: '/srv/many', content: { pattern: 'foo' } }))).toEqual(honest)
      }
      await runtime.sh(`printf '#!/bin/sh\\nsleep 1000\\n' > ${rg}`)
      const waited = await search({ path: '/srv/many', content: { pattern: 'foo' }, timeout_secs: 0.5 })
      expect(waited.truncated).toBe('timeout')
      await runtime.sh(`printf '#!/bin/sh\\nprintf "/etc/passwd\\\\0../../etc/passwd\\\\0"\\n' > ${rg}`)
      expect(lines(await search({ path: '/srv/many', content: { pattern: 'foo' } }))).toEqual([])
      await runtime.sh(`cp /srv/rg ${rg}; ! pgrep -x sleep`)
    })
  })

  describe('replace', () => {
    it('changes files atomically, and keeps their attributes', async () => {
      await runtime.sh(`rm -rf /srv/r; mkdir -p /srv/r/sub; cd /srv/r; printf 'old old\\n' > one; printf 'an old one' > sub/two; printf 'old\\0' > binary
chown 12:34 one; chmod 4640 one; ln -s one link; python -c "import os; os.setxattr('one', 'user.note', b'kept')"`)
      const what = { path: '/srv/r', pattern: 'old', replacement: 'new' }
      failure(await post('replace', { ...what, expected_count: 2 }), 'conflict')
      expect(success(await post('replace', { ...what, dry_run: true }), 200, ReplaceResult).total_count).toBe(3)
      expect(await runtime.sh('cat /srv/r/one /srv/r/sub/two')).toBe('old old\nan old one')
      const { files } = success(await post('replace', { ...what, expected_count: 3 }), 200, ReplaceResult)
      expect(files).toEqual([
        { path: '/srv/r/one', count: 2, error: null },
        { path: '/srv/r/sub/two', count: 1, error: null },
      ])
      expect(await runtime.sh('cd /srv/r; cat one sub/two; stat -c "%a %u:%g" one; readlink link; ls -A . sub')).toBe(
        'new new\nan new one4640 12:34\nlink\n'.replace('link\n', 'one\n.:\nbinary\nlink\none\nsub\n\nsub:\ntwo'),
      )
      expect(await runtime.sh(`python -c "import os; print(os.getxattr('/srv/r/one', 'user.note').decode())"`)).toBe(
        'kept',
      )
      const groups = { paths: ['/srv/r/link'], pattern: '(n)(ew)', replacement: '$2-$1', regex: true }
      success(await post('replace', groups), 200, ReplaceResult)
      expect(await runtime.sh('cat /srv/r/one')).toBe('ew-n ew-n')
    })

    it('replaces a text of 64 KiB', async () => {
      await runtime.sh(`rm -rf /srv/r; mkdir -p /srv/r; python -c "print('é' * 32768, end='')" > /srv/r/long`)
      const what = { paths: ['/srv/r/long'], pattern: 'é'.repeat(32_768), replacement: 'short', expected_count: 1 }
      success(await post('replace', what), 200, ReplaceResult)
      expect(await runtime.sh('cat /srv/r/long')).toBe('short')
    })

    it('refuses files that are not text, and then changes nothing', async () => {
      await runtime.sh(
        'rm -rf /srv/r; mkdir -p /srv/r; cd /srv/r; echo old > one; printf "old\\0" > binary; mkfifo pipe',
      )
      const what = { pattern: 'old', replacement: 'new' }
      failure(await post('replace', { ...what, paths: ['/srv/r/one', '/srv/r/binary'] }), 'not_a_file')
      failure(await post('replace', { ...what, paths: ['/srv/r/one', '/srv/r/pipe'] }), 'not_a_file')
      failure(await post('replace', { ...what, paths: ['/srv/r/one', '/srv/r'] }), 'is_directory')
      failure(await post('replace', { ...what, paths: ['/srv/r/one'], path: '/srv/r' }), 'invalid_request')
      expect(await runtime.sh('cat /srv/r/one')).toBe('old')
    })
  })
})

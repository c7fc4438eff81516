import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { manualPage } from '../../../scripts/release/manual-page.ts'
import { verbOutlines } from '../src/verb-outlines.ts'

const page = manualPage({ version: '1.2.3', epochSecs: 86_400 })

test('the manual page has every command and option, and its facts', () => {
  const shown = page.replaceAll('\\-', '-').replaceAll(/\\f[BR]/g, '')
  for (const { name, commands, options } of verbOutlines) {
    for (const words of commands.length === 0 ? [name] : commands.map((one) => `${name} ${one.name}`))
      expect(shown).toMatch(new RegExp(`^holt ${words}(?: |$)`, 'm'))
    for (const { flags } of commands.length === 0 ? options : []) expect(shown).toContain(`.B ${flags}\n`)
  }
  expect(shown).toMatch(/^\.TH HOLT 1 "1970-01-02" "holt 1\.2\.3"/)
})

test('no line except those of the page is a formatting request', () => {
  const requests = page.split('\n').filter((line) => /^[.']/.test(line))
  expect(requests.filter((line) => !/^\.(?:TH|SH|SS|TP|PP|RS|RE|B|I|br)(?: |$)/.test(line))).toEqual([])
})

test.runIf(existsSync('/usr/bin/groff'))('groff reads it without a warning', async () => {
  const child = promisify(execFile)('/usr/bin/groff', ['-man', '-Tutf8', '-ww', '-z'])
  child.child.stdin?.end(page)
  expect(await child).toEqual({ stdout: '', stderr: '' })
  const shown = execFileSync('/usr/bin/groff', ['-man', '-Tascii'], { input: page, encoding: 'utf8' })
  // Some systems print a bold letter as the letter, a backspace and the letter.
  expect(shown.replaceAll(/.\x08/g, '')).toContain('holt up')
})

import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/**
 * Runs the commands of the README's picture against the service on this machine, and draws commands
 * and output as `docs/images/terminal.svg`. It needs `holt up`, and removes the runtimes it makes.
 */
const commands = [
  `holt create -n agent`,
  `holt exec agent -- python -c 'open("/workspace/n", "w").write("42")'`,
  `holt exec agent -- curl -sS --max-time 5 https://example.com || true`,
  `for id in $(holt fork agent --count 2); do holt exec $id -- sh -c 'hostname; cat /workspace/n; echo'; done`,
]
const cleanUp = 'holt rm --all -f'

const root = new URL('..', import.meta.url).pathname
const run = promisify(execFile)
const env = { ...process.env, NO_COLOR: '1', PATH: `${root}packages/cli/bin:${process.env.PATH}` }

const lines: { text: string; isCommand: boolean }[] = []
try {
  for (const command of commands) {
    lines.push({ text: `$ ${command}`, isCommand: true })
    const { stdout, stderr } = await run('bash', ['-c', command], { env, cwd: root, timeout: 120_000 })
    for (const text of `${stdout}${stderr}`.trimEnd().split('\n'))
      if (text !== '') lines.push({ text, isCommand: false })
  }
} finally {
  await run('bash', ['-c', cleanUp], { env, cwd: root, timeout: 120_000 })
}
await mkdir(`${root}docs/images`, { recursive: true })
await writeFile(`${root}docs/images/terminal.svg`, drawing(lines))

/** Returns an SVG of a terminal with these lines. Sizes are in pixels. */
function drawing(shown: typeof lines): string {
  const [size, leading, padding] = [13, 20, 18]
  const columns = Math.max(...shown.map(({ text }) => text.length))
  const [width, height] = [Math.ceil(columns * size * 0.602) + 2 * padding, shown.length * leading + 2 * padding]
  const rows = shown.map(
    ({ text, isCommand }, at) =>
      `  <text x="${padding}" y="${padding + (at + 0.75) * leading}"${isCommand ? ' fill="#7ee787"' : ''}>${escaped(text)}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A terminal session with Holt">
  <rect width="100%" height="100%" rx="8" fill="#0d1117"/>
  <g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="${size}" fill="#e6edf3" xml:space="preserve">
${rows.join('\n')}
  </g>
</svg>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCssVariablesTheme } from 'shiki'
import { base } from '../base.ts'
import { listSources } from '../list-sources.ts'
import { anchorOf } from '../markdown.ts'

const siteDir = process.env.HOLT_SITE_DIR ?? ''

/** The text for readers without scripts, for whom VitePress has no page. */
const noSuchPage = `<noscript><h1>There is no such page</h1><p><a href="${base}">All pages</a></p></noscript>`

/** The part of a node of highlighted code that is changed. */
interface CodeNode {
  readonly properties: { style?: string; class?: string | readonly string[] }
}

/**
 * The configuration of VitePress. The service sends the site with a strict policy, so nothing is
 * loaded from elsewhere, and no element has a style of its own.
 */
export default {
  title: 'Holt',
  description: 'Runs untrusted code for AI agents on your own machine',
  lang: 'en',
  base,
  srcDir: '.pages',
  outDir: process.env.HOLT_SITE_OUT,
  cleanUrls: true,
  // A change of colours would otherwise add a style, which the policy refuses.
  appearance: { disableTransition: false },
  // Data of the site is a file, and not a script inside each page.
  metaChunk: true,
  // One page after another, so that the same pages give the same bytes.
  buildConcurrency: 1,
  markdown: {
    anchor: { slugify: anchorOf },
    theme: createCssVariablesTheme({ name: 'variables', variablePrefix: '--code-' }),
    codeTransformers: [
      {
        name: 'classes-for-styles',
        pre: (node: CodeNode) => void delete node.properties.style,
        span: (node: CodeNode) => {
          const token = /--code-token-([a-z-]+)/.exec(node.properties.style ?? '')?.[1]
          delete node.properties.style
          if (token !== undefined) node.properties.class = `code-${token}`
        },
      },
    ],
  },
  // The policy refuses styles in elements. `style.css` has the first one, and a script sets the other.
  transformHtml: (html: string, file: string) => {
    const plain = html.replaceAll(/ style="(position:relative;|--vp-vh:0px;)"/g, '')
    return file.endsWith('/404.html') ? plain.replace('<body>', `<body>${noSuchPage}`) : plain
  },
  vite: {
    // The repository's tsconfig.json has a target that is newer than Vite's compiler.
    esbuild: { tsconfigRaw: {} },
    // Pictures stay files, so that the policy needs no data URL for them.
    build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 2000 },
    plugins: [listSources(process.env.HOLT_SITE_SOURCES ?? null)],
  },
  themeConfig: {
    search: { provider: 'local' },
    sidebar: JSON.parse(readFileSync(join(siteDir, '.pages/sidebar.json'), 'utf8')),
    nav: [
      { text: 'Tour', link: '/tour' },
      { text: 'API', link: '/reference/api' },
      { text: 'Command', link: '/reference/cli' },
      { text: 'Errors', link: '/reference/errors' },
    ],
    outline: { level: [2, 3] },
    docFooter: { prev: 'Previous', next: 'Next' },
  },
}

/**
 * The part of `beautiful-mermaid` that is used. It is imported by name, because types are checked
 * without the packages of the site.
 */
interface Drawer {
  renderMermaidSVG(code: string, colours: { readonly bg: string; readonly fg: string }): string
}

const packageName: string = 'beautiful-mermaid'

/**
 * Replaces the Mermaid diagrams of a page by pictures, so that readers need neither a script nor a
 * network. `keep` stores a picture and returns its path from the page. The heading before a diagram
 * is its description.
 */
export async function drawDiagrams(text: string, keep: (svg: string) => string): Promise<string> {
  const diagram = /^```mermaid\n([\s\S]*?)^```$/gm
  if (!diagram.test(text)) return text
  const drawer = (await import(packageName)) as Drawer
  return text.replaceAll(diagram, (_, code: string, offset: number) => {
    const [, heading = 'Diagram'] = [...text.slice(0, offset).matchAll(/^#+ (.+)$/gm)].at(-1) ?? []
    return `![Diagram: ${heading}](${keep(draw(drawer, code))})`
  })
}

/** Draws a diagram. The picture loads nothing, so its fonts are those of the reader. */
function draw(drawer: Drawer, code: string): string {
  const svg = drawer.renderMermaidSVG(code, { bg: '#ffffff', fg: '#27272a' })
  const alone = svg.replaceAll(/^\s*@import url\([^)]*\);\n/gm, '').replaceAll("'Inter', ", '')
  if (/@import|https?:(?!\/\/www\.w3\.org\/)/.test(alone)) throw new Error('a diagram loads something from elsewhere')
  return alone
}

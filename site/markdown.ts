/** Returns the title of a page: its first heading. Throws if it has none. */
export function titleOf(text: string, source: string): string {
  const title = /^# (.+)$/m.exec(text)?.[1]
  if (title === undefined) throw new Error(`${source} has no title: its first heading must begin with "# "`)
  return title.replaceAll('`', '').trim()
}

/** Returns the anchor of a heading, as Git hosts name it. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')
}

/** Changes the prose of a page, and leaves its blocks of code and its code spans as they are. */
export function outsideCode(text: string, change: (prose: string) => string): string {
  const code = /(^ *```[\s\S]*?^ *```$|`[^`\n]+`)/gm
  // `split` puts the code, which the pattern captures, at the odd places.
  const parts = text.split(code)
  // A link may have code in its text. So the prose is changed as a whole, with marks for the code.
  const marked = parts.map((part, index) => (index % 2 === 0 ? part : `\uE000${index}\uE001`)).join('')
  return change(marked).replaceAll(/\uE000(\d+)\uE001/g, (_, index: string) => parts[Number(index)] ?? '')
}

/** The languages whose blocks are indented, and end with an empty line. */
const indented: readonly string[] = ['python']

/** Text that hides brackets: strings with escapes, and comments to the end of the line. */
const hidden = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g
const tripleQuoted = /("""|''')[\s\S]*?\1/g
const comments: Readonly<Record<string, RegExp>> = { python: /#.*$/gm, bash: /(^|\s)#.*$/gm }
const slashComment = /\/\/.*$/gm

const brackets: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' }

/**
 * Returns true if typed lines are a whole statement, as far as their form tells: no bracket, string
 * or block is open. An empty line ends a block. Code that is not whole is an error of the
 * interpreter, and nothing worse.
 */
export function isComplete(lines: readonly string[], language: string): boolean {
  const text = lines.join('\n')
  const last = lines.at(-1) ?? ''
  if (last.endsWith('\\')) return false
  const withoutLong = text.replace(tripleQuoted, '""')
  if (/"""|'''/.test(withoutLong)) return false
  const bare = withoutLong.replace(hidden, '""').replace(comments[language] ?? slashComment, '')
  if (language !== 'bash' && hasOpenBracket(bare)) return false
  if (!indented.includes(language)) return true
  const isBlock = /:\s*$/m.test(withoutBrackets(bare)) || lines[0]?.startsWith('@') === true
  return !isBlock || last.trim() === ''
}

/** Returns text without the parts in brackets, where a colon opens no block. */
function withoutBrackets(text: string): string {
  const shorter = text.replace(/[([{][^()[\]{}]*[)\]}]/g, '')
  return shorter === text ? text : withoutBrackets(shorter)
}

function hasOpenBracket(text: string): boolean {
  const open: string[] = []
  for (const character of text) {
    if ('([{'.includes(character)) open.push(character)
    else if (brackets[character] !== undefined && open.pop() !== brackets[character]) return false
  }
  return open.length > 0
}

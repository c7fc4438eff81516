import { defaultHighlightStyle, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import type { Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'

// The colours of both themes reach the editor as variables, through its shadow root.

/** The colour of the theme for each colour of the default style, whose words it has. */
const colours: Readonly<Record<string, string>> = {
  '#708': 'var(--accent)',
  '#a11': 'var(--text)',
  '#940': 'var(--muted)',
  '#f00': 'var(--danger)',
}

const words = HighlightStyle.define(
  defaultHighlightStyle.specs.flatMap(({ tag, color }) => {
    const colour = colours[String(color)]
    return colour === undefined ? [] : [{ tag, color: colour, ...(color === '#708' ? { fontWeight: 'bold' } : {}) }]
  }),
)

const theme = EditorView.theme({
  '&': { maxHeight: '480px', color: 'var(--text)', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { minHeight: '220px', fontFamily: 'ui-monospace, monospace', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-gutters': { color: 'var(--muted)', backgroundColor: 'var(--back)', borderRight: '1px solid var(--line)' },
  '.cm-activeLineGutter': { color: 'var(--text)', backgroundColor: 'transparent' },
  '.cm-verdicts': { width: '20px', textAlign: 'center' },
  '.verdict.supported': { color: 'var(--accent)' },
  '.verdict.refused': { color: 'var(--danger)', fontWeight: 'bold' },
  '.refused-line': { backgroundColor: 'var(--danger-back)' },
  '.cm-placeholder': { color: 'var(--muted)' },
})

/** The look of the editor in both themes. */
export const editorLook: Extension = [theme, syntaxHighlighting(words)]
